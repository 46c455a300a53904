package resource

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

// Times of fetching keys.
const (
	keyLife            = time.Hour        // keys older than this are fetched again
	minRefreshInterval = 30 * time.Second // between two attempts, so that tokens with unknown key ids cannot flood the issuer
	fetchTimeout       = 15 * time.Second
)

// keySet holds the public keys of one issuer. They are fetched when they are first
// needed, when they are older than keyLife, and when a token names an unknown key.
// It is safe for concurrent use.
type keySet struct {
	issuer *Issuer
	now    func() time.Time
	log    *slog.Logger

	fetched     atomic.Pointer[fetchedKeys]
	mu          sync.Mutex // held while fetching
	lastAttempt time.Time
}

// fetchedKeys is a key set with the time at which it was fetched.
type fetchedKeys struct {
	jose.JSONWebKeySet
	at time.Time
}

// verifySignature checks the signature of a token against the keys of the issuer.
// It stores the registered claims in claims and returns all claims. Keys for
// encryption, for another algorithm, and keys that are not public are skipped: with
// a symmetric key, a client could sign its own token.
func (k *keySet) verifySignature(ctx context.Context, t *jwt.JSONWebToken, claims *jwt.Claims) (map[string]any, error) {
	kid := t.Headers[0].KeyID
	keys, err := k.findKeys(ctx, kid)
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
	return nil, invalidTokenf("the signature of the token does not match a key of its issuer")
}

// findKeys returns the keys that may have signed a token: the one that it names, or
// all if it names none. Errors: unavailable with RetryAfter if no keys were ever
// fetched.
func (k *keySet) findKeys(ctx context.Context, kid string) ([]jose.JSONWebKey, error) {
	if keys := k.keysByID(kid); len(keys) > 0 && k.now().Sub(k.fetched.Load().at) < keyLife {
		return keys, nil
	}
	k.refreshKeys(ctx)
	if k.fetched.Load() == nil {
		e := junctor.Errorf(junctor.CodeUnavailable, "cannot load the keys of the token's issuer; try again in a moment")
		e.RetryAfter = minRefreshInterval
		return nil, e
	}
	return k.keysByID(kid), nil
}

// keysByID returns the fetched keys with an id, or all for "".
func (k *keySet) keysByID(kid string) []jose.JSONWebKey {
	known := k.fetched.Load()
	switch {
	case known == nil:
		return nil
	case kid == "":
		return known.Keys
	}
	return known.Key(kid)
}

// refreshKeys fetches the keys, unless that was tried within minRefreshInterval. If
// it fails, the former keys stay in use.
func (k *keySet) refreshKeys(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if now.Sub(k.lastAttempt) < minRefreshInterval {
		return
	}
	k.lastAttempt = now
	// Other requests wait for the result too, so it does not end with the first
	// one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	set, err := k.fetchKeys(ctx)
	if err != nil {
		k.log.LogAttrs(ctx, slog.LevelError, "cannot fetch the signing keys of a token issuer", slog.String("issuer", k.issuer.Issuer), slog.String("error", err.Error()))
		return
	}
	k.fetched.Store(&fetchedKeys{set, now})
}

// fetchKeys reads the issuer's metadata (RFC 8414 or OpenID Connect Discovery) and
// the keys that it points to. Metadata of another issuer is rejected.
func (k *keySet) fetchKeys(ctx context.Context) (set jose.JSONWebKeySet, err error) {
	addresses, err := metadataURLs(k.issuer.Issuer)
	if err != nil {
		return set, err
	}
	var failed error
	for _, address := range addresses {
		var meta struct {
			Issuer string `json:"issuer"`
			JWKS   string `json:"jwks_uri"`
		}
		if err := k.getJSON(ctx, address, &meta); err != nil {
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
		return set, k.getJSON(ctx, meta.JWKS, &set)
	}
	return set, failed
}

// metadataURLs returns the possible addresses of an issuer's metadata, most likely
// first.
func metadataURLs(issuer string) ([]string, error) {
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

// getJSON fetches a JSON document. The client bounds its size.
func (k *keySet) getJSON(ctx context.Context, address string, to any) error {
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
		return errors.New(address + " does not answer with valid JSON")
	}
	return nil
}
