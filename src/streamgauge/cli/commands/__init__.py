"""The commands as the command line declares them: options, help, and what carries them out, imported when called."""
