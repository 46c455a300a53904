package seal

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// minScrubbedLength is the length of the shortest credential that a Scrubber looks
// for. Shorter ones are ordinary words that occur in texts for other reasons.
const minScrubbedLength = 6

// Scrubber replaces credentials in texts by junctor.Masked. A server may repeat in
// an error or a result what it was sent, as it was sent or escaped in one of the
// usual ways.
type Scrubber struct {
	secrets  []string
	replacer *strings.Replacer
}

// NewScrubber returns a Scrubber for secrets. It ignores those too short to be told
// from ordinary words.
func NewScrubber(secrets ...string) *Scrubber {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < minScrubbedLength })
	slices.Sort(secrets)
	s := &Scrubber{secrets: slices.Compact(secrets)}
	all := make([]string, 0, 18*len(s.secrets)) // the number that secretForms returns
	for _, secret := range s.secrets {
		all = append(all, secretForms(secret)...)
	}
	// strings.Replacer takes the first match, so longer forms go before their prefixes.
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(all))
	for _, form := range slices.Compact(all) {
		pairs = append(pairs, form, junctor.Masked)
	}
	s.replacer = strings.NewReplacer(pairs...)
	return s
}

// secretForms returns the ways in which a secret may appear in a text: as it is,
// escaped for a URL, in base64, and each of these escaped for JSON.
func secretForms(secret string) []string {
	plain := []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawStdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
	}
	all := plain
	for _, text := range plain {
		for _, html := range []bool{true, false} {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(html)
			if e.Encode(text) == nil {
				all = append(all, strings.Trim(strings.TrimSuffix(b.String(), "\n"), `"`))
			}
		}
	}
	return all
}

// Scrub returns the text without the secrets.
func (s *Scrubber) Scrub(text string) string { return s.replacer.Replace(text) }

// Secrets implements junctor.Keeper. The caller must not change the list.
func (s *Scrubber) Secrets() []string { return s.secrets }

// ScrubberForRequest returns a Scrubber for the credentials of one request: the values
// of the headers, each with and without its first word (the scheme), the password of
// HTTP Basic, and the query.
func ScrubberForRequest(h http.Header, query string) *Scrubber {
	secrets := SecretsInQuery(query)
	for _, values := range h {
		for _, v := range values {
			_, rest, _ := strings.Cut(v, " ")
			secrets = append(secrets, v, rest)
			if pair, err := base64.StdEncoding.DecodeString(rest); err == nil { // HTTP Basic
				_, password, _ := strings.Cut(string(pair), ":")
				secrets = append(secrets, password)
			}
		}
	}
	return NewScrubber(secrets...)
}

// SecretsInQuery returns the query of a URL and the values in it, each as it stands
// there and decoded.
func SecretsInQuery(query string) []string {
	all := []string{query}
	for pair := range strings.SplitSeq(query, "&") {
		_, value, named := strings.Cut(pair, "=")
		if !named {
			value = pair
		}
		all = append(all, value)
		if meant, err := url.QueryUnescape(value); err == nil {
			all = append(all, meant)
		}
	}
	return all
}
