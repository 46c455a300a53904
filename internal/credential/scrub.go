package credential

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

// shortest is the length from which on a credential is looked for in texts:
// shorter ones are words that stand there for other reasons.
const shortest = 6

// Scrubber takes credentials away from texts: a server may repeat what it was
// sent, as it was sent or in one of the forms that programs give to text.
type Scrubber struct {
	secrets  []string
	replacer *strings.Replacer
}

// NewScrubber makes one for these secrets.
func NewScrubber(secrets ...string) *Scrubber {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < shortest })
	slices.Sort(secrets)
	s := &Scrubber{secrets: slices.Compact(secrets)}
	all := make([]string, 0, 18*len(s.secrets)) // as many as forms gives
	for _, secret := range s.secrets {
		all = append(all, forms(secret)...)
	}
	// Of two that begin alike the longer is to be found.
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(all))
	for _, form := range slices.Compact(all) {
		pairs = append(pairs, form, junctor.Masked)
	}
	s.replacer = strings.NewReplacer(pairs...)
	return s
}

// forms are the ways in which a secret may stand in a text.
func forms(secret string) []string {
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

// Scrub gives the text without the secrets.
func (s *Scrubber) Scrub(text string) string { return s.replacer.Replace(text) }

// Secrets implements junctor.Keeper. The list is not to be changed.
func (s *Scrubber) Secrets() []string { return s.secrets }

// OfRequest is a Scrubber for what a caller gave for one request: the values of
// the headers, each with and without its first word, and the query.
func OfRequest(h http.Header, query string) *Scrubber {
	secrets := ofQuery(query)
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

// ofQuery are the query of a URL and the values in it, as they stand there and
// as they are meant.
func ofQuery(query string) []string {
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
