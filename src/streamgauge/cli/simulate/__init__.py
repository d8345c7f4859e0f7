"""The commands below `simulate`: their options, what they ask for, and what is printed."""
