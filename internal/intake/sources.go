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

// The names under which a source's secrets are sealed: the one that is in force,
// the one before, which still counts after a rotation, and the address of a Redis.
const (
	secretNow    = "secret"
	secretFormer = "former"
	secretURL    = "url"
)

// CheckSource refuses a source that makes no sense. secret is what was entered;
// it may be zero for one that has its secret already.
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
		return fault("header is the name of a header, with the style hmac")
	}
	if s.Key != "" && !s.Pulled() || len(s.Key) > 200 {
		return fault("key is the name of a list or a stream, with the styles redis and redis-stream")
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

// checkSecret refuses a secret that messages of the source are never checked with.
func checkSecret(s *junctor.Source, secret string) error {
	if s.Style == junctor.StyleStandard {
		return junctor.CheckWebhookSecret(secret)
	}
	return junctor.CheckSigningSecret(secret)
}

// checkRedisURL does not repeat the address: it may hold a password.
func checkRedisURL(secret seal.Secret) error {
	u, err := url.Parse(secret.Reveal())
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "" {
		return junctor.Errorf(junctor.CodeInvalid, "source: the secret of the styles redis and redis-stream is the address, redis://user:password@host:6379/0 or rediss:// with TLS")
	}
	return nil
}

// AddSource stores a source and seals what it is known by.
func (in *Intake) AddSource(ctx context.Context, tenant junctor.TenantID, s junctor.Source, secret seal.Secret) (junctor.Source, error) {
	if secret.IsZero() {
		return s, junctor.Errorf(junctor.CodeInvalid, "source: it needs its secret; with the styles redis and redis-stream that is the address")
	}
	if err := CheckSource(&s, secret); err != nil {
		return s, err
	}
	if s.Pulled() && in.Dial == nil {
		return s, junctor.Errorf(junctor.CodeInvalid, "source: this instance reads no Redis")
	}
	if _, err := in.Store.For(tenant).Source(ctx, s.ID); err == nil {
		return s, junctor.Errorf(junctor.CodeConflict, "the source id %q is taken", s.ID)
	}
	// The secret first: a source without one would refuse everything.
	if err := in.Secrets.Put(ctx, tenant, junctor.SourceOwner(s.ID), secretName(&s), secret); err != nil {
		return s, err
	}
	stored, err := in.Store.For(tenant).AddSource(ctx, s)
	if err == nil {
		in.pulls.changed()
	}
	return stored, err
}

// ChangeSource stores a source that was read, changed, in place of the one with its id;
// precondition where somebody else changed it meanwhile. A secret that is
// not zero takes the place of the former, which is kept for those who still sign
// with it until it is replaced again, unless once is said. by is who changes it, as
// Principal.ID says.
func (in *Intake) ChangeSource(ctx context.Context, tenant junctor.TenantID, by string, s junctor.Source, secret seal.Secret, once bool) (junctor.Source, error) {
	if err := CheckSource(&s, secret); err != nil {
		return s, err
	}
	if secret.IsZero() {
		if err := in.checkStyle(ctx, tenant, &s); err != nil {
			return s, err
		}
	}
	// The row first: the secret of a change that is refused takes nothing's place.
	stored, err := in.Store.For(tenant).By(by).UpdateSource(ctx, s)
	if err == nil && !secret.IsZero() {
		err = in.replaceSecret(ctx, tenant, &s, secret, once)
	}
	in.pulls.changed()
	return stored, err
}

// replaceSecret stores the secret of a source in place of the former one.
func (in *Intake) replaceSecret(ctx context.Context, tenant junctor.TenantID, s *junctor.Source, secret seal.Secret, once bool) error {
	owner := junctor.SourceOwner(s.ID)
	former, had, err := in.Secrets.Get(ctx, tenant, owner, secretNow)
	if err != nil {
		return err
	}
	switch {
	case s.Pulled():
	case had && !once && !former.Equal(secret.Reveal()):
		err = in.Secrets.Put(ctx, tenant, owner, secretFormer, former)
	case once:
		err = in.forget(ctx, tenant, owner, secretFormer)
	}
	if err == nil {
		err = in.Secrets.Put(ctx, tenant, owner, secretName(s), secret)
	}
	return err
}

// checkStyle refuses another style for a source whose secret is none there.
func (in *Intake) checkStyle(ctx context.Context, tenant junctor.TenantID, s *junctor.Source) error {
	had, err := in.Store.For(tenant).Source(ctx, s.ID)
	if err != nil || had.Style == s.Style || s.Pulled() {
		return err
	}
	secret, ok, err := in.Secrets.Get(ctx, tenant, junctor.SourceOwner(s.ID), secretNow)
	if err != nil || !ok {
		return err
	}
	if err := checkSecret(s, secret.Reveal()); err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "source: the style %s needs another secret: %s", s.Style, junctor.AsError(err).Message)
	}
	return nil
}

// RemoveSource forgets a source and its secrets. Its events stay.
func (in *Intake) RemoveSource(ctx context.Context, tenant junctor.TenantID, id string) error {
	if err := in.Store.For(tenant).DeleteSource(ctx, id); err != nil {
		return err
	}
	in.pulls.changed()
	for _, name := range []string{secretNow, secretFormer, secretURL} {
		if err := in.forget(ctx, tenant, junctor.SourceOwner(id), name); err != nil {
			return err
		}
	}
	return nil
}

func (in *Intake) forget(ctx context.Context, tenant junctor.TenantID, owner, name string) error {
	if err := in.Secrets.Delete(ctx, tenant, owner, name); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return err
	}
	return nil
}

// KnownBy says whether a secret is the one that is in force for a source.
func (in *Intake) KnownBy(ctx context.Context, s *junctor.Source, secret seal.Secret) (bool, error) {
	had, ok, err := in.Secrets.Get(ctx, s.Tenant, junctor.SourceOwner(s.ID), secretName(s))
	return ok && had.Equal(secret.Reveal()), err
}

func secretName(s *junctor.Source) string {
	if s.Pulled() {
		return secretURL
	}
	return secretNow
}

// secretsOf gives the secrets that a message of the source may be signed with.
// There are always as many, so that checking takes as long: in the place of those
// that a source has not stands one that nobody knows.
func (in *Intake) secretsOf(ctx context.Context, s *junctor.Source) ([]string, error) {
	var out []string
	for _, name := range []string{secretNow, secretFormer} {
		secret, ok, err := in.Secrets.Get(ctx, s.Tenant, junctor.SourceOwner(s.ID), name)
		if err != nil {
			return nil, err
		}
		if !ok {
			out = append(out, in.decoy)
			continue
		}
		if err := checkSecret(s, secret.Reveal()); err != nil {
			in.Log.WarnContext(ctx, "a source's secret is not used: enter another with junctor source rotate", "source", s.ID, "name", name, "error", err.Error())
			out = append(out, in.decoy)
			continue
		}
		out = append(out, secret.Reveal())
	}
	return out, nil
}

// fileOf names the file of an event, for calls that carry what is in it.
func fileOf(e *junctor.Event, verify bool) *junctor.File {
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

// object says whether text is a JSON object.
func object(text json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(text, &members) == nil && members != nil
}
