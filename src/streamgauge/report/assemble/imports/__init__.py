"""Results of other tools as results and folders of ours."""
