package apigen

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/graphql"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// documentsIssuer is the party whose byte budget fetched documents count
// against.
const documentsIssuer = "documents"

// Introspect asks a GraphQL endpoint for its schema and returns the answer. Its
// bytes count against bytesInFlight, which may be nil. header contains
// credentials. An endpoint that refuses is an error with CodeUpstream and its
// reason.
func Introspect(ctx context.Context, client *http.Client, address string, header http.Header, bytesInFlight *limit.ByteBudget) ([]byte, error) {
	body, err := json.Marshal(map[string]string{"query": graphql.IntrospectionQuery})
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the introspection query cannot be encoded: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the address is not a valid URL")
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, junctor.AsError(err)
	}
	defer resp.Body.Close()
	text, err := bytesInFlight.ReadAll(ctx, limit.Party{Issuer: documentsIssuer}, nil, resp.Body, resp.ContentLength, maxFileBytes)
	if err != nil {
		return nil, junctor.AsError(err)
	}
	if resp.StatusCode != http.StatusOK || wire.Get(wire.Get(wire.Get(text, "data"), "__schema"), "types") == nil {
		return nil, junctor.Errorf(junctor.CodeUpstream, "%s answers introspection with HTTP %d and no schema%s", req.URL.Host, resp.StatusCode, RefusalReason(req, text))
	}
	return text, nil
}

// maxRefusalBytes bounds the part of an answer that an error repeats.
const maxRefusalBytes = 300

// htmlTitle finds the title of an HTML page.
var htmlTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// RefusalReason returns why a server refused a request for a document, as far as the
// body of its answer says, with a colon before it: the messages of JSON errors, the
// title of a page, or the first line of another text. It is empty if there is none. The
// credentials of the request are masked, because servers repeat them. Unprintable
// characters are removed, since they could control a terminal.
func RefusalReason(req *http.Request, body []byte) string {
	reason := jsonRefusal(body)
	if reason == "" {
		reason = textRefusal(body)
	}
	// Mask before the text is cut: a part of a credential would not be recognized.
	reason = seal.ScrubberForRequest(req.Header, req.URL.RawQuery).Scrub(reason)
	reason = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, reason))
	switch {
	case reason == "":
		return ""
	case len(reason) > maxRefusalBytes:
		reason = strings.ToValidUTF8(reason[:maxRefusalBytes], "") + "…"
	}
	return ": " + reason
}

// jsonRefusal returns the messages in a JSON answer.
func jsonRefusal(body []byte) string {
	var answer struct {
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
		Message string `json:"message"`
		Error   any    `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	var all []string
	for _, e := range answer.Errors {
		all = append(all, e.Message)
	}
	if reason, ok := answer.Error.(string); ok {
		all = append(all, reason)
	}
	all = slices.DeleteFunc(append(all, answer.Message), func(s string) bool { return s == "" })
	return strings.Join(all, "; ")
}

// textRefusal returns the title of an HTML page, or the first line of another text.
func textRefusal(body []byte) string {
	if !utf8.Valid(body) {
		return "" // an image, or a text in an unknown encoding
	}
	text := strings.TrimSpace(string(body))
	if strings.HasPrefix(text, "<") {
		title := htmlTitle.FindStringSubmatch(text)
		if title == nil {
			return ""
		}
		text = strings.TrimSpace(html.UnescapeString(title[1]))
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}
