package credential

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
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Source gives the credentials of one connection when they are used.
type Source struct {
	conn     admission.Connection
	plain    junctor.Connection // conn, as it is looked at
	literals func(ctx context.Context) (Set, error)
	reader   Reader
	tokens   *tokens       // with oauth-client
	reading  chan struct{} // holds one while Header reads

	mu       sync.Mutex
	gave     map[string]string // what was read last, by place
	scrubber *Scrubber         // of that; nil when it has changed
	opened   Set               // the literals, once they were opened
	header   http.Header       // what Header gave last; nil is to be made anew
	expires  time.Time         // when it is; zero is never
}

// referenceFor is how long what a reference stood for is used before it is read
// again: calls must not wait for a file or a program each time.
const referenceFor = 10 * time.Second

// NewSource makes a Source of a connection whose references may be read. literals opens what is sealed; ask gets the tokens of
// OAuth clients, and may be nil where there are none.
func NewSource(admitted admission.Connection, literals func(context.Context) (Set, error), reader Reader, ask Asker) *Source {
	conn := admitted.Value()
	s := &Source{conn: admitted, plain: conn, literals: literals, reader: reader, reading: make(chan struct{}, 1)}
	if conn.Auth != nil && conn.Auth.Type == junctor.AuthOAuthClient {
		s.tokens = &tokens{auth: *conn.Auth, ask: ask, getting: make(chan struct{}, 1)}
	}
	return s
}

// Literal is a Source's literals where nothing has to be opened.
func Literal(set Set) func(context.Context) (Set, error) {
	return func(context.Context) (Set, error) { return set, nil }
}

// whole reads all credentials of the connection that keep lets pass.
func (s *Source) whole(ctx context.Context, keep func(place string) bool) (Set, error) {
	out := Set{}
	var set Set
	var failed error
	s.plain.MapCredentials(func(place, text string) string {
		if failed != nil || !keep(place) || text == "" {
			return text
		}
		switch {
		case junctor.IsReference(place, text):
			out[place], failed = s.reader.Read(ctx, s.conn.Reference(text))
		case text == junctor.Masked:
			if set == nil {
				if set, failed = s.open(ctx); failed != nil {
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
		s.know(place, secret.Reveal())
	}
	return out, failed
}

// know remembers a credential that was given out.
func (s *Source) know(place, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gave == nil {
		s.gave = map[string]string{}
	}
	if former := s.gave[place]; former != secret {
		s.gave[place], s.scrubber = secret, nil
		s.gave[placeFormer+place] = former // a call with it may be under way
	}
}

// open gives the literals, which are the same for as long as there is a Source.
func (s *Source) open(ctx context.Context) (Set, error) {
	s.mu.Lock()
	set := s.opened
	s.mu.Unlock()
	if set != nil {
		return set, nil
	}
	set, err := s.literals(ctx)
	if err == nil {
		s.mu.Lock()
		s.opened = set
		s.mu.Unlock()
	}
	return set, err
}

// known is the Scrubber for all that was given out last.
func (s *Source) known() *Scrubber {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scrubber == nil {
		var secrets []string
		for place, secret := range s.gave {
			secrets = append(secrets, secret)
			if place == junctor.PlaceQuery {
				secrets = append(secrets, ofQuery(secret)...)
			}
		}
		s.scrubber = NewScrubber(secrets...)
	}
	return s.scrubber
}

// Scrub takes the credentials that were given out away from a text.
func (s *Source) Scrub(text string) string { return s.known().Scrub(text) }

// Secrets implements junctor.Keeper: what was given out.
func (s *Source) Secrets() []string { return s.known().Secrets() }

// URL is the address with its query.
func (s *Source) URL(ctx context.Context) (*url.URL, error) {
	set, err := s.whole(ctx, func(place string) bool { return place == junctor.PlaceQuery })
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(s.plain.URL)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the url is not one of a server")
	}
	if query, ok := set[junctor.PlaceQuery]; ok {
		u.RawQuery = query.Reveal()
	}
	return u, nil
}

// Env is the variables of a command, KEY=VALUE.
func (s *Source) Env(ctx context.Context) ([]string, error) {
	set, err := s.whole(ctx, func(place string) bool { return strings.HasPrefix(place, junctor.PlaceEnv) })
	if err != nil {
		return nil, err
	}
	env := make([]string, 0, len(s.plain.Env))
	for name := range s.plain.Env {
		value := set[junctor.PlaceEnv+name].Reveal()
		if strings.ContainsRune(value, 0) {
			return nil, junctor.Errorf(junctor.CodeInvalid, "the variable %s holds a character that none can", name)
		}
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}

// Header is the headers that prove who we are; they must not be changed. They
// are read anew after a while where they are read from somewhere, and after
// Forget. No error shows a value.
func (s *Source) Header(ctx context.Context) (http.Header, error) {
	if h := s.remembered(); h != nil {
		return h, nil
	}
	select {
	case s.reading <- struct{}{}: // one at a time: it may start a program
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return nil, junctor.AsError(ctx.Err())
	}
	if h := s.remembered(); h != nil {
		return h, nil
	}
	h, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.header, s.expires = h, time.Time{}
	if s.tokens != nil || len(s.plain.References()) > 0 {
		s.expires = time.Now().Add(referenceFor)
	}
	return h, nil
}

func (s *Source) remembered() http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.expires.IsZero() && time.Now().After(s.expires) {
		return nil
	}
	return s.header
}

// Forget makes the next Header read everything anew: the server did not take
// what it was given.
func (s *Source) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.header = nil
	if s.tokens != nil {
		s.tokens.stale.Store(true)
	}
}

// Renews says whether there may be another token where the server does not take
// the one it was given.
func (s *Source) Renews() bool { return s.tokens != nil }

func (s *Source) read(ctx context.Context) (http.Header, error) {
	set, err := s.whole(ctx, func(place string) bool {
		return strings.HasPrefix(place, junctor.PlaceAuth) || strings.HasPrefix(place, junctor.PlaceHeaders)
	})
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	for name := range s.plain.Headers {
		h.Set(name, set[junctor.PlaceHeaders+name].Reveal())
	}
	if a := s.plain.Auth; a != nil {
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
			s.know(placeSent, pair)
			h.Set("Authorization", "Basic "+pair)
		case junctor.AuthOAuthClient:
			token, err := s.tokens.get(ctx, Proof{Secret: set[junctor.PlaceAuth], Subject: set[junctor.PlaceSubject], IDPSecret: set[junctor.PlaceIDPSecret]})
			if err != nil {
				return nil, err
			}
			s.know(placeSent, token.Reveal())
			h.Set("Authorization", "Bearer "+token.Reveal())
		case junctor.AuthNone, junctor.AuthOAuth: // a login is put on by who has it
		}
	}
	for name, values := range h {
		if strings.ContainsFunc(values[0], func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return nil, junctor.Errorf(junctor.CodeInvalid, "the credential for the header %s has characters that a header cannot carry: is there a line break in it?", name)
		}
	}
	return h, nil
}

// Secret is the secret of the connection's auth; zero where there is none.
func (s *Source) Secret(ctx context.Context) (seal.Secret, error) {
	set, err := s.whole(ctx, func(place string) bool { return place == junctor.PlaceAuth })
	return set[junctor.PlaceAuth], err
}
