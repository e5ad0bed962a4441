"""Who asks which query when: from change logs to the change of a view."""
