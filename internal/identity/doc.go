// Package identity authenticates callers: it turns a credential into a
// *junctor.Principal. It also stores and changes keys, users, logins and tenants.
//
// Its callers are gateway, which authenticates each request (or each connection on stdio)
// before guard judges it; signin and oauth/resource, which verify people and tokens of identity
// providers and ask which user they are; and admin, which manages keys and users. It
// keeps its rows in package store.
//
// Identity follows from a verified credential alone, never from a URL or another header.
// A check reads an immutable snapshot of all credentials: no database and no lock. Every
// change replaces the snapshot before it returns, so a revoked key stops working at once.
//
// Read identity.go and snapshot.go first, then authenticate.go. keys.go, users.go,
// logins.go and admin_key.go are the changes; directory.go ends what a change leaves
// without permission; admission.go and token_user.go serve identity providers; token.go
// and password.go are the formats.
package identity
