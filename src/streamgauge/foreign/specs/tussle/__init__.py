"""Command lines and properties of tussle, the framework of Azul's kafka-benchmark."""
