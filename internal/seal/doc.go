// Package seal encrypts secrets. It is the only package that encrypts stored
// data.
//
// internal/app opens a Keyring from a file or the environment, and with it a
// Vault and a SessionRing. The Vault seals the credentials that users store;
// internal/upstreamauth and others use it, and internal/store keeps
// the result. gateway and guard seal session ids and request states with the SessionRing.
// Replicas connect to each other through a ChannelMaker. Secret is the type in
// which other packages carry plaintext.
//
// There are three layers of keys. Master keys, in a Keyring, are outside of the
// database and wrap only other keys. Data keys (one per stored secret) and ring
// keys are in the database, wrapped. So after a change of the master key only the
// small keys are wrapped again, and no secret is encrypted again.
//
// To read the code, begin with master.go (one master key) and keyring.go (several
// of them), then envelope.go (one sealed secret) and vault.go (all of them).
// keyfile.go and keyfile_io.go are the key file; keyring_lock.go and rotate.go
// change its keys. ring.go, ring_seal.go and ring_rewrap.go are the SessionRing,
// channel.go the connections between replicas, secret.go the type Secret, and
// scrub.go removes secrets from texts.
package seal
