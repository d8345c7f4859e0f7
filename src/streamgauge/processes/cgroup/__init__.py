"""Control groups (cgroups) of Linux: which ones this process is in, and what their CPU quotas are."""
