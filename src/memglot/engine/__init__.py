"""The deeds: each verb is written once, here, for the command line, the agents' server and the viewer alike."""
