"""Edit what a store holds: memories, the tree, links, entities, identity, scopes; maintain the store."""
