"""What other tools measure or specify: programs and tasks that are carried out, results that become run folders."""
