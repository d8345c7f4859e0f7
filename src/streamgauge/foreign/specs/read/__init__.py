"""Reading specifications: texts, command lines, fields, and settings of the Java client."""
