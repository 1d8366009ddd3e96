"""What formats of one memory a note share: the frame, and how a note comes back as it was."""
