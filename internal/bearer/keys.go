package bearer

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	junctor "github.com/junctor-mcp/junctor"
)

const (
	keepKeys   = time.Hour        // after that the issuer is asked for its keys again
	askAgain   = 30 * time.Second // but never sooner, whatever keys tokens name
	fetchLimit = 15 * time.Second
)

// keySet is the keys of one issuer. They are fetched when they are first needed,
// when they are old, and when a token names one that is not known.
type keySet struct {
	issuer *Issuer
	now    func() time.Time
	log    *slog.Logger

	known atomic.Pointer[fetched]
	mu    sync.Mutex // held by who fetches
	tried time.Time
}

type fetched struct {
	jose.JSONWebKeySet
	at time.Time
}

// verify holds a token to the signature of its issuer, and reads its claims.
func (k *keySet) verify(ctx context.Context, t *jwt.JSONWebToken, claims *jwt.Claims) (map[string]any, error) {
	kid := t.Headers[0].KeyID
	keys, err := k.find(ctx, kid)
	if err != nil {
		return nil, err
	}
	for i := range keys {
		if keys[i].Use == "enc" || keys[i].Algorithm != "" && keys[i].Algorithm != t.Headers[0].Algorithm || !keys[i].IsPublic() {
			continue
		}
		var all map[string]any
		var held jwt.Claims
		if t.Claims(keys[i].Key, &held, &all) == nil && held.Issuer == k.issuer.Issuer {
			*claims = held
			return all, nil
		}
	}
	return nil, invalid("the token is not signed by its issuer")
}

// find gives the keys that a token may be signed with: the one that it names, or
// all where it names none.
func (k *keySet) find(ctx context.Context, kid string) ([]jose.JSONWebKey, error) {
	if keys := k.named(kid); len(keys) > 0 && k.now().Sub(k.known.Load().at) < keepKeys {
		return keys, nil
	}
	k.refresh(ctx)
	if k.known.Load() == nil {
		e := junctor.Errorf(junctor.CodeUnavailable, "the keys of the token's issuer cannot be had just now; try again in a moment")
		e.RetryAfter = askAgain
		return nil, e
	}
	return k.named(kid), nil
}

func (k *keySet) named(kid string) []jose.JSONWebKey {
	known := k.known.Load()
	switch {
	case known == nil:
		return nil
	case kid == "":
		return known.Keys
	}
	return known.Key(kid)
}

// refresh asks the issuer for its keys, unless that was done a moment ago. Where
// it fails the former ones go on.
func (k *keySet) refresh(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if now.Sub(k.tried) < askAgain {
		return
	}
	k.tried = now
	// Others wait for the answer too: it does not end with who asked first.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchLimit)
	defer cancel()
	set, err := k.fetch(ctx)
	if err != nil {
		k.log.LogAttrs(ctx, slog.LevelError, "the keys of a token issuer cannot be had", slog.String("issuer", k.issuer.Issuer), slog.String("error", err.Error()))
		return
	}
	k.known.Store(&fetched{set, now})
}

// fetch finds the issuer's metadata (RFC 8414, or OpenID Connect discovery), and
// by it the keys.
func (k *keySet) fetch(ctx context.Context) (set jose.JSONWebKeySet, err error) {
	addresses, err := metadataOf(k.issuer.Issuer)
	if err != nil {
		return set, err
	}
	var failed error
	for _, address := range addresses {
		var meta struct {
			Issuer string `json:"issuer"`
			JWKS   string `json:"jwks_uri"`
		}
		if err := k.get(ctx, address, &meta); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		switch {
		case meta.Issuer != k.issuer.Issuer:
			failed = errors.Join(failed, errors.New("the metadata at "+address+" is of another issuer"))
			continue
		case meta.JWKS == "":
			failed = errors.Join(failed, errors.New("the metadata at "+address+" has no jwks_uri"))
			continue
		}
		return set, k.get(ctx, meta.JWKS, &set)
	}
	return set, failed
}

// metadataOf lists where the metadata of an issuer may be, the likeliest first.
func metadataOf(issuer string) ([]string, error) {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, err
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.Path, "/")
	list := []string{origin + "/.well-known/oauth-authorization-server" + path, origin + path + "/.well-known/openid-configuration"}
	if path != "" {
		list = append(list, origin+"/.well-known/openid-configuration"+path)
	}
	return list, nil
}

func (k *keySet) get(ctx context.Context, address string, to any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	res, err := k.issuer.Client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errors.New(address + " answers " + res.Status)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if json.Unmarshal(body, to) != nil {
		return errors.New(address + " answers what cannot be read")
	}
	return nil
}
