"""Records as plain trees, by the types their fields declare: what saved results and kept states share."""
