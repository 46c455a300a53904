package apigen

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/graphql"
	"github.com/junctor-mcp/junctor/internal/limit"
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
	body, err := json.Marshal(map[string]string{"query": graphql.Introspection})
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the question cannot be written: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the address is none")
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
		return nil, junctor.Errorf(junctor.CodeUpstream, "%s answers introspection with HTTP %d and no schema%s", req.URL.Host, resp.StatusCode, refusalReason(text))
	}
	return text, nil
}

// maxRefusalBytes bounds the part of an answer that an error repeats.
const maxRefusalBytes = 300

// refusalReason returns why an endpoint does not reveal its schema, as far as
// its answer says: the messages of its errors. Unprintable characters are
// removed, since they could control a terminal.
func refusalReason(text []byte) string {
	var answer struct {
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
		Message string `json:"message"`
		Error   any    `json:"error"`
	}
	if json.Unmarshal(text, &answer) != nil {
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
	reasons := strings.Map(func(r rune) rune {
		// Control characters could write into the user's terminal.
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.Join(all, "; "))
	if reasons == "" {
		return ""
	}
	if len(reasons) > maxRefusalBytes {
		reasons = strings.ToValidUTF8(reasons[:maxRefusalBytes], "") + "…"
	}
	return ": " + reasons
}
