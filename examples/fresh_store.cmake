# An empty, private directory for the stores of the examples.
file(REMOVE_RECURSE store)
file(MAKE_DIRECTORY store)
file(CHMOD store PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
