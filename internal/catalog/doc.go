// Package catalog knows which tools, resources and prompts exist. It maps the
// names that clients see to a server and its item, decides which principal may
// see which item, checks arguments against schemas, and renders lists.
//
// Its callers are guard, which resolves a name here before anything runs;
// gateway, which sends the lists; and admin and apps, which describe tools. It
// calls the backends (builtin, upstream and apigen implement Backend) to read
// what they offer, and wire to read JSON without decoding it.
//
// All reads go to an immutable Snapshot, so a read never waits for a change. A
// change builds the next snapshot and reuses every part that stayed the same:
// compiled schemas, and the rendered lists of tenants that it does not concern.
//
// Read the files in this order:
//
//   - backend.go: the interface to a server, and what passes through it
//   - catalog.go: attaching, detaching and refreshing servers
//   - snapshot.go: Snapshot, Shelf (one tenant), Server, Tool, ToolVersion
//   - access.go, visibility.go: agents, grants and the one decision on visibility
//   - resolve.go, exposed_name.go, suggest.go: from a name to an item
//   - list.go, exposure.go, tool_finder.go: lists, and the tools that stand for the others where a list would be too long
//   - search.go, search_index.go, search_query.go, search_words.go: finding tools by words
//   - change.go: notification of changes
//   - definition.go, older_*.go, profile.go: definitions that every client can read
//   - classify.go: the roles that a tool is for
//   - schema.go, then schema_*.go: checking arguments within bounded time and memory
package catalog
