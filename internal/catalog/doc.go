// Package catalog knows what exists: it maps the names that clients see to
// (server, item), decides who may see what, keeps compiled schemas, and renders
// lists once per change instead of once per request.
//
// It stands between guard, which asks it to resolve a name before anything
// runs, and the backends (builtin, and others that implement Backend), which it
// asks what they offer. gateway and admin read its lists. All reads go to an
// immutable Snapshot; a change builds the next one.
package catalog
