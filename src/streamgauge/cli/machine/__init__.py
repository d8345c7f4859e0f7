"""What commands about the machine do: how fit it is for measuring, and how exactly it measures."""
