package intake

import (
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/event"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Names of a source's sealed secrets: the current one, the previous one, which stays
// valid after a rotation, and the address of a Redis.
const (
	secretCurrent = "secret"
	secretFormer  = "former"
	secretURL     = "url"
)

// CheckSource returns an invalid error if a source is inconsistent. secret is
// the new secret; it may be zero if the source has one already.
func CheckSource(s *junctor.Source, secret seal.Secret) error {
	fault := func(format string, args ...any) error {
		return junctor.Errorf(junctor.CodeInvalid, "source: "+format, args...)
	}
	if err := junctor.CheckSourceID(s.ID); err != nil {
		return err
	}
	if !slices.Contains(junctor.SourceStyles(), s.Style) {
		return fault("unknown style %q: use standard, github, stripe, hmac, redis or redis-stream", string(s.Style))
	}
	if ok, _ := regexp.MatchString(`^[A-Za-z0-9-]{0,100}$`, s.Header); !ok || s.Header != "" && s.Style != junctor.StyleHMAC {
		return fault("header must be the name of a header, and is allowed only with the style hmac")
	}
	if s.Key != "" && !s.Pulled() || len(s.Key) > 200 {
		return fault("key must be the name of a list or a stream, and is allowed only with the styles redis and redis-stream")
	}
	for _, field := range []string{s.TypeField, s.AgentField} {
		if field != "" {
			if err := event.CheckField(field); err != nil {
				return err
			}
		}
	}
	if secret.IsZero() {
		return nil
	}
	if s.Pulled() {
		return checkRedisURL(secret)
	}
	if err := checkSecret(s, secret.Reveal()); err != nil {
		return fault("%s", junctor.AsError(err).Message)
	}
	return nil
}

// checkSecret returns an error if the source's style cannot use a secret.
func checkSecret(s *junctor.Source, secret string) error {
	if s.Style == junctor.StyleStandard {
		return junctor.CheckWebhookSecret(secret)
	}
	return junctor.CheckSigningSecret(secret)
}

// checkRedisURL checks the address of a Redis. Its error does not repeat the
// address, which may contain a password.
func checkRedisURL(secret seal.Secret) error {
	u, err := url.Parse(secret.Reveal())
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "" {
		return junctor.Errorf(junctor.CodeInvalid, "source: with the styles redis and redis-stream, secret must be the Redis URL: redis://user:password@host:6379/0, or rediss:// for TLS")
	}
	return nil
}

// AddSource stores a source and seals its secret. An id that is taken is a
// conflict.
func (in *Intake) AddSource(ctx context.Context, tenant junctor.TenantID, s junctor.Source, secret seal.Secret) (junctor.Source, error) {
	if secret.IsZero() {
		return s, junctor.Errorf(junctor.CodeInvalid, "source: secret is missing; for the styles redis and redis-stream, it is the Redis URL")
	}
	if err := CheckSource(&s, secret); err != nil {
		return s, err
	}
	if s.Pulled() && in.Dial == nil {
		return s, junctor.Errorf(junctor.CodeInvalid, "source: this instance cannot read Redis")
	}
	// Check before the secret is stored: it would replace the secret of the
	// existing source.
	if _, err := in.Store.For(tenant).Source(ctx, s.ID); err == nil {
		return s, junctor.Errorf(junctor.CodeConflict, "the source id %q is taken", s.ID)
	}
	// Store the secret first: a source without one would refuse every message.
	if err := in.Secrets.Put(ctx, tenant, junctor.SourceOwner(s.ID), secretName(&s), secret); err != nil {
		return s, err
	}
	stored, err := in.Store.For(tenant).AddSource(ctx, s)
	if err == nil {
		in.pullSignal.notifyChanged()
	}
	return stored, err
}

// ChangeSource replaces the source with the same id. The error is precondition
// if somebody else changed it after it was read. A secret that is not zero
// replaces the current one. The previous secret stays valid until the next
// replacement, unless once is set. by is the Principal.ID of the caller.
func (in *Intake) ChangeSource(ctx context.Context, tenant junctor.TenantID, by string, s junctor.Source, secret seal.Secret, once bool) (junctor.Source, error) {
	if err := CheckSource(&s, secret); err != nil {
		return s, err
	}
	if secret.IsZero() {
		if err := in.checkStyle(ctx, tenant, &s); err != nil {
			return s, err
		}
	}
	// Store the row first: if it is refused, the secret must stay as it is.
	stored, err := in.Store.For(tenant).By(by).UpdateSource(ctx, s)
	if err == nil && !secret.IsZero() {
		err = in.replaceSecret(ctx, tenant, &s, secret, once)
	}
	in.pullSignal.notifyChanged()
	return stored, err
}

// replaceSecret replaces the secret of a source, and keeps the previous one
// unless once is set.
func (in *Intake) replaceSecret(ctx context.Context, tenant junctor.TenantID, s *junctor.Source, secret seal.Secret, once bool) error {
	owner := junctor.SourceOwner(s.ID)
	former, had, err := in.Secrets.Get(ctx, tenant, owner, secretCurrent)
	if err != nil {
		return err
	}
	switch {
	case s.Pulled():
	// Keep the previous secret for senders that still sign with it.
	case had && !once && !former.Equal(secret.Reveal()):
		err = in.Secrets.Put(ctx, tenant, owner, secretFormer, former)
	case once:
		err = in.deleteSecret(ctx, tenant, owner, secretFormer)
	}
	if err == nil {
		err = in.Secrets.Put(ctx, tenant, owner, secretName(s), secret)
	}
	return err
}

// checkStyle returns an error if the style changes to one that cannot use the
// present secret.
func (in *Intake) checkStyle(ctx context.Context, tenant junctor.TenantID, s *junctor.Source) error {
	had, err := in.Store.For(tenant).Source(ctx, s.ID)
	if err != nil || had.Style == s.Style || s.Pulled() {
		return err
	}
	secret, ok, err := in.Secrets.Get(ctx, tenant, junctor.SourceOwner(s.ID), secretCurrent)
	if err != nil || !ok {
		return err
	}
	if err := checkSecret(s, secret.Reveal()); err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "source: the secret is invalid for the style %s: %s", s.Style, junctor.AsError(err).Message)
	}
	return nil
}

// RemoveSource deletes a source and its secrets. Its events stay.
func (in *Intake) RemoveSource(ctx context.Context, tenant junctor.TenantID, id string) error {
	if err := in.Store.For(tenant).DeleteSource(ctx, id); err != nil {
		return err
	}
	in.pullSignal.notifyChanged()
	for _, name := range []string{secretCurrent, secretFormer, secretURL} {
		if err := in.deleteSecret(ctx, tenant, junctor.SourceOwner(id), name); err != nil {
			return err
		}
	}
	return nil
}

// deleteSecret deletes a secret, if there is one.
func (in *Intake) deleteSecret(ctx context.Context, tenant junctor.TenantID, owner, name string) error {
	if err := in.Secrets.Delete(ctx, tenant, owner, name); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return err
	}
	return nil
}

// KnownBy reports whether a secret is the current one of a source.
func (in *Intake) KnownBy(ctx context.Context, s *junctor.Source, secret seal.Secret) (bool, error) {
	had, ok, err := in.Secrets.Get(ctx, s.Tenant, junctor.SourceOwner(s.ID), secretName(s))
	return ok && had.Equal(secret.Reveal()), err
}

// secretName is the name of the current secret of a source.
func secretName(s *junctor.Source) string {
	if s.Pulled() {
		return secretURL
	}
	return secretCurrent
}

// loadSecrets returns the secrets that a message of the source may be signed
// with. There are always two, so that checking always takes the same time: a
// random secret stands in for each one that is missing.
func (in *Intake) loadSecrets(ctx context.Context, s *junctor.Source) ([]string, error) {
	var out []string
	for _, name := range []string{secretCurrent, secretFormer} {
		secret, ok, err := in.Secrets.Get(ctx, s.Tenant, junctor.SourceOwner(s.ID), name)
		if err != nil {
			return nil, err
		}
		if !ok {
			out = append(out, in.decoySecret)
			continue
		}
		if err := checkSecret(s, secret.Reveal()); err != nil {
			in.Log.WarnContext(ctx, "cannot use the secret of a source: replace it with junctor source rotate", "source", s.ID, "name", name, "error", err.Error())
			out = append(out, in.decoySecret)
			continue
		}
		out = append(out, secret.Reveal())
	}
	return out, nil
}

// fileOfEvent returns the file that an event refers to, for calls that include
// its content; nil if there is none.
func fileOfEvent(e *junctor.Event, verify bool) *junctor.File {
	text := func(names ...string) string {
		for _, name := range names {
			if s, err := event.Text(e, "data."+name); err == nil && s != "" {
				return s
			}
		}
		return ""
	}
	uri := text("file_uri", "fileUri", "feedbackURI", "response_uri", "responseUri", "responseURI")
	if uri == "" {
		return nil
	}
	return &junctor.File{URI: uri, Hash: text("file_hash", "fileHash", "feedbackHash", "response_hash", "responseHash"), Include: true, Verify: verify}
}

// isObject reports whether a text is a JSON object.
func isObject(text json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(text, &members) == nil && members != nil
}
