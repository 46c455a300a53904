// Package identity says who is asking: it turns a credential into a
// *junctor.Principal. It stands between gateway and guard: each door asks it
// once per request (or per connection, on stdio), and the guard judges what it
// answers. It also makes and revokes keys, for admin, and keeps them in
// package store; and it says which user somebody is whom an identity provider
// vouches for, to signin and to bearer, which have verified that.
//
// Who somebody is comes from a verified credential alone, never from a URL or
// another header. A check reads an immutable snapshot of all keys: no database,
// no lock. The snapshot is replaced whenever a key changes.
package identity
