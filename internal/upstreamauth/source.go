package upstreamauth

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	oauthclient "github.com/junctor-mcp/junctor/internal/oauth/client"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Source provides the credentials of one connection: as request headers, as the
// query of the URL, or as environment variables of a command. It resolves
// references and decrypts literals when they are used, and remembers what it gave
// out so that Scrub can remove it from texts. It is safe for concurrent use.
type Source struct {
	// admitted allows reading the references of conn; both are the same connection.
	admitted     admission.Connection
	conn         junctor.Connection
	openLiterals func(ctx context.Context) (LiteralSet, error)
	reader       ReferenceReader
	tokens       *tokenCache   // nil unless the auth type is oauth-client
	readLock     chan struct{} // capacity 1: held by the Header call that reads the credentials

	mu            sync.Mutex
	givenSecrets  map[string]string // by place; former values under placeFormer
	scrubber      *seal.Scrubber    // for givenSecrets; nil if they have changed
	literals      LiteralSet        // nil until they are decrypted
	header        http.Header       // the last result of Header; nil after Forget
	headerExpires time.Time         // zero if header does not expire
}

// referenceLife is how long the value of a reference is reused. Otherwise each call
// would wait for a file or a program.
const referenceLife = 10 * time.Second

// NewSource returns the Source of an admitted connection. literals decrypts what
// was entered for it. ask gets the tokens of OAuth clients, and may be nil for
// other auth types.
func NewSource(admitted admission.Connection, literals func(context.Context) (LiteralSet, error), reader ReferenceReader, ask oauthclient.TokenRequester) *Source {
	conn := admitted.Value()
	s := &Source{admitted: admitted, conn: conn, openLiterals: literals, reader: reader, readLock: make(chan struct{}, 1)}
	if conn.Auth != nil && conn.Auth.Type == junctor.AuthOAuthClient {
		s.tokens = &tokenCache{auth: *conn.Auth, requestToken: ask, lock: make(chan struct{}, 1)}
	}
	return s
}

// StaticLiterals returns a literals function for NewSource whose literals are in
// memory already.
func StaticLiterals(set LiteralSet) func(context.Context) (LiteralSet, error) {
	return func(context.Context) (LiteralSet, error) { return set, nil }
}

// readCredentials returns the credentials at the places for which keep returns
// true: references are read, masked literals decrypted, and other texts taken as
// they are. Each is remembered for Scrub, also if another one fails.
func (s *Source) readCredentials(ctx context.Context, keep func(place string) bool) (LiteralSet, error) {
	out := LiteralSet{}
	var set LiteralSet
	var failed error
	s.conn.MapCredentials(func(place, text string) string {
		if failed != nil || !keep(place) || text == "" {
			return text
		}
		switch {
		case junctor.IsReference(place, text):
			out[place], failed = s.reader.Read(ctx, s.admitted.Reference(text))
		case text == junctor.Masked:
			if set == nil {
				if set, failed = s.loadLiterals(ctx); failed != nil {
					return text
				}
			}
			if out[place] = set[place]; out[place].IsZero() {
				failed = junctor.Errorf(junctor.CodeUnavailable, "the credential at %s is not stored: enter it again", place)
			}
		default:
			out[place] = seal.NewSecret(text)
		}
		return text
	})
	for place, secret := range out {
		s.rememberSecret(place, secret.Reveal())
	}
	return out, failed
}

// rememberSecret records a secret that is given out, so that Scrub finds it. The
// former secret of the same place stays known, because a call may still use it.
func (s *Source) rememberSecret(place, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.givenSecrets == nil {
		s.givenSecrets = map[string]string{}
	}
	if former := s.givenSecrets[place]; former != secret {
		s.givenSecrets[place], s.scrubber = secret, nil
		s.givenSecrets[placeFormer+place] = former
	}
}

// InheritSecrets takes over the secrets that former gave out, so that Scrub still
// removes them from answers of calls in progress.
func (s *Source) InheritSecrets(former *Source) {
	former.mu.Lock()
	defer former.mu.Unlock()
	for place, secret := range former.givenSecrets {
		if !strings.HasPrefix(place, placeFormer) {
			s.rememberSecret(placeFormer+placeFormer+place, secret)
		}
	}
}

// loadLiterals returns the decrypted literals. They do not change during the life
// of a Source, so they are decrypted once.
func (s *Source) loadLiterals(ctx context.Context) (LiteralSet, error) {
	s.mu.Lock()
	set := s.literals
	s.mu.Unlock()
	if set != nil {
		return set, nil
	}
	set, err := s.openLiterals(ctx)
	if err == nil {
		s.mu.Lock()
		s.literals = set
		s.mu.Unlock()
	}
	return set, err
}

// currentScrubber returns the Scrubber for all secrets given out, rebuilt if they
// have changed. Of a query, each value counts as a secret too, since servers quote
// single values in their errors.
func (s *Source) currentScrubber() *seal.Scrubber {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scrubber == nil {
		var secrets []string
		for place, secret := range s.givenSecrets {
			secrets = append(secrets, secret)
			if place == junctor.PlaceQuery {
				secrets = append(secrets, seal.SecretsInQuery(secret)...)
			}
		}
		s.scrubber = seal.NewScrubber(secrets...)
	}
	return s.scrubber
}

// Scrub removes the credentials that were given out from a text.
func (s *Source) Scrub(text string) string { return s.currentScrubber().Scrub(text) }

// Secrets implements junctor.Keeper. It returns the credentials that were given
// out.
func (s *Source) Secrets() []string { return s.currentScrubber().Secrets() }

// URL returns the address of the server including its query, which is stored like a
// credential.
func (s *Source) URL(ctx context.Context) (*url.URL, error) {
	set, err := s.readCredentials(ctx, func(place string) bool { return place == junctor.PlaceQuery })
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(s.conn.URL)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "url is not a valid URL of a server")
	}
	if query, ok := set[junctor.PlaceQuery]; ok {
		u.RawQuery = query.Reveal()
	}
	return u, nil
}

// CommandArgs returns the arguments of the command with the sealed ones in the clear, and
// the secrets in them, for masking what the command writes.
func (s *Source) CommandArgs(ctx context.Context) (args, secrets []string, err error) {
	words := slices.Clone(s.conn.Command)
	for i, word := range words {
		if !isMaskedWord(i, word) {
			continue
		}
		set, err := s.loadLiterals(ctx)
		if err != nil {
			return nil, nil, err
		}
		secret, ok := set[placeOfWord(i)]
		if !ok {
			return nil, nil, junctor.Errorf(junctor.CodeUnavailable, "word %d of the command is not stored: enter it again", i+1)
		}
		if words[i] = secret.Reveal(); strings.ContainsRune(words[i], 0) {
			return nil, nil, junctor.Errorf(junctor.CodeInvalid, "command must not contain the character NUL")
		}
	}
	secrets = SecretsInCommand(words)
	for i, secret := range secrets {
		s.rememberSecret(placeOfWord(i), secret)
	}
	return words[min(1, len(words)):], secrets, nil
}

// Env returns the environment variables of a command as sorted KEY=VALUE entries.
func (s *Source) Env(ctx context.Context) ([]string, error) {
	set, err := s.readCredentials(ctx, func(place string) bool { return strings.HasPrefix(place, junctor.PlaceEnv) })
	if err != nil {
		return nil, err
	}
	env := make([]string, 0, len(s.conn.Env))
	for name := range s.conn.Env {
		value := set[junctor.PlaceEnv+name].Reveal()
		if strings.ContainsRune(value, 0) {
			return nil, junctor.Errorf(junctor.CodeInvalid, "the variable %s must not contain the character NUL", name)
		}
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}

// Header returns the headers that authenticate requests. The caller must not change
// them. They are cached. References and tokens expire after referenceLife, and
// Forget discards all. Concurrent callers wait for one read, each no longer than
// its context allows. Errors never contain a credential.
func (s *Source) Header(ctx context.Context) (http.Header, error) {
	if h := s.cachedHeader(); h != nil {
		return h, nil
	}
	select {
	case s.readLock <- struct{}{}: // one at a time: reading may start a program
		defer func() { <-s.readLock }()
	case <-ctx.Done():
		return nil, junctor.AsError(ctx.Err())
	}
	if h := s.cachedHeader(); h != nil {
		return h, nil
	}
	h, err := s.readHeader(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.header, s.headerExpires = h, time.Time{}
	if s.tokens != nil || len(s.conn.References()) > 0 {
		s.headerExpires = time.Now().Add(referenceLife)
	}
	return h, nil
}

// cachedHeader returns the cached headers, or nil if they have to be read.
func (s *Source) cachedHeader() http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.headerExpires.IsZero() && time.Now().After(s.headerExpires) {
		return nil
	}
	return s.header
}

// Forget makes the next Header read everything again, because the server refused
// the credentials. It also marks the OAuth token as refused.
func (s *Source) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.header = nil
	if s.tokens != nil {
		s.tokens.stale.Store(true)
	}
}

// CanRenew reports whether another token can be requested if the server refuses the
// current one.
func (s *Source) CanRenew() bool { return s.tokens != nil }

// readHeader builds the headers from the current credentials. It refuses values
// with control characters: a line break could add a header of its own.
func (s *Source) readHeader(ctx context.Context) (http.Header, error) {
	set, err := s.readCredentials(ctx, func(place string) bool {
		return strings.HasPrefix(place, junctor.PlaceAuth) || strings.HasPrefix(place, junctor.PlaceHeaders)
	})
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	for name := range s.conn.Headers {
		h.Set(name, set[junctor.PlaceHeaders+name].Reveal())
	}
	if a := s.conn.Auth; a != nil {
		secret := set[junctor.PlaceAuth].Reveal()
		switch a.Type {
		case junctor.AuthBearer:
			h.Set("Authorization", "Bearer "+secret)
		case junctor.AuthAPIKey:
			name := a.Header
			if name == "" {
				name = "X-API-Key"
			}
			h.Set(name, secret)
		case junctor.AuthBasic:
			pair := base64.StdEncoding.EncodeToString([]byte(a.Username + ":" + secret))
			s.rememberSecret(placeSent, pair)
			h.Set("Authorization", "Basic "+pair)
		case junctor.AuthOAuthClient:
			token, err := s.tokens.get(ctx, oauthclient.TokenProof{Secret: set[junctor.PlaceAuth], Subject: set[junctor.PlaceSubject], IDPSecret: set[junctor.PlaceIDPSecret]})
			if err != nil {
				return nil, err
			}
			s.rememberSecret(placeSent, token.Reveal())
			h.Set("Authorization", "Bearer "+token.Reveal())
		case junctor.AuthNone, junctor.AuthOAuth: // a login's token is added by serverLogins
		}
	}
	for name, values := range h {
		if strings.ContainsFunc(values[0], func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return nil, junctor.Errorf(junctor.CodeInvalid, "the credential for the header %s contains control characters, which a header cannot contain: remove line breaks", name)
		}
	}
	return h, nil
}

// Secret returns the secret of the connection's auth, such as a client secret. It
// is zero if there is none.
func (s *Source) Secret(ctx context.Context) (seal.Secret, error) {
	set, err := s.readCredentials(ctx, func(place string) bool { return place == junctor.PlaceAuth })
	return set[junctor.PlaceAuth], err
}
