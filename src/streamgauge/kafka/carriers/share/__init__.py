"""Share groups (KIP-932): their settings, how far they are, and the engine's reader that is a member of one."""
