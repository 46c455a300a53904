package admin

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// minCompressed is the size in bytes from which answers are compressed. Below, the
// headers of gzip and of the connection outweigh what it saves.
const minCompressed = 1 << 10

// uncompressedOperations lists the GET operations whose answers are never compressed:
// they hold payloads of calls, events, rooms and logins. The length of a compressed answer
// tells whether a text that an attacker put into it repeats in a secret beside it. For the
// same reason no answer to a POST, PUT or PATCH is compressed: those show tokens once.
func uncompressedOperations() []string {
	return []string{
		"list-history", "get-call", "list-events", "get-event", "list-deliveries", "get-delivery",
		"list-messages", "search-messages", "list-room-approvals",
		"list-server-traces", "get-server-login", "list-my-credentials", "get-my-credential",
		"view-mail", "get-view", "get-view-log",
	}
}

// headerETag is the response header with the version of an answer.
const headerETag = "ETag"

// humaContext is huma.Context under a name that embeds beside its method Context.
type humaContext huma.Context

// answerBuffer holds back the status and the body of an answer.
type answerBuffer struct {
	humaContext
	status  int
	body    bytes.Buffer
	hasETag bool // the operation has set one
}

// Unwrap, SetStatus, Status, BodyWriter, SetHeader and AppendHeader implement huma.Context.
func (b *answerBuffer) Unwrap() huma.Context  { return b.humaContext }
func (b *answerBuffer) SetStatus(status int)  { b.status = status }
func (b *answerBuffer) Status() int           { return b.status }
func (b *answerBuffer) BodyWriter() io.Writer { return &b.body }

func (b *answerBuffer) SetHeader(name, value string) {
	b.hasETag = b.hasETag || strings.EqualFold(name, headerETag)
	b.humaContext.SetHeader(name, value)
}

func (b *answerBuffer) AppendHeader(name, value string) {
	b.hasETag = b.hasETag || strings.EqualFold(name, headerETag)
	b.humaContext.AppendHeader(name, value)
}

// finishAnswer is the middleware of GET operations that do not stream. It gives an answer
// an ETag, answers 304 if the client has that answer already, and compresses it if the
// client accepts that. An operation that sets an ETag itself names the version of an
// object, which does not cover all of the answer, so it is never answered with 304.
func (a *api) finishAnswer(ctx huma.Context, next func(huma.Context)) {
	answer := &answerBuffer{humaContext: ctx}
	next(answer)
	body := answer.body.Bytes()
	if answer.status == http.StatusOK {
		if !answer.hasETag {
			sum := sha256.Sum256(body)
			// Weak, since the same tag stands for the answer with and without gzip.
			tag := `W/"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
			ctx.SetHeader(headerETag, tag)
			if matchesETag(ctx.Header("If-None-Match"), tag) {
				ctx.SetStatus(http.StatusNotModified)
				return
			}
		}
		if len(body) >= minCompressed && !slices.Contains(uncompressedOperations(), ctx.Operation().OperationID) {
			ctx.AppendHeader("Vary", "Accept-Encoding")
			if acceptsGzip(ctx.Header("Accept-Encoding")) {
				body = a.compress(body)
				ctx.SetHeader("Content-Encoding", "gzip")
			}
		}
	}
	if len(body) > 0 {
		ctx.SetHeader("Content-Length", strconv.Itoa(len(body)))
	}
	ctx.SetStatus(answer.status)
	_, _ = ctx.BodyWriter().Write(body) // an error means that the client is gone
}

// matchesETag reports whether If-None-Match names a tag. The comparison is weak, as
// RFC 9110 defines it for this header.
func matchesETag(header, tag string) bool {
	opaque := strings.TrimPrefix(tag, "W/")
	for one := range strings.SplitSeq(header, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == opaque {
			return true
		}
	}
	return false
}

// acceptsGzip reports whether Accept-Encoding allows gzip.
func acceptsGzip(header string) bool {
	accepts := false
	for one := range strings.SplitSeq(header, ",") {
		coding, rest, _ := strings.Cut(one, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		if coding != "gzip" && coding != "*" {
			continue
		}
		weight, _ := strings.CutPrefix(strings.ReplaceAll(rest, " ", ""), "q=")
		q, err := strconv.ParseFloat(weight, 64)
		allowed := err != nil || q > 0
		if coding == "gzip" {
			return allowed // more specific than *
		}
		accepts = allowed
	}
	return accepts
}

// compress returns a body in gzip.
func (a *api) compress(body []byte) []byte {
	var out bytes.Buffer
	w, ok := a.gzips.Get().(*gzip.Writer)
	if !ok {
		w, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	}
	w.Reset(&out)
	_, _ = w.Write(body) // into memory
	_ = w.Close()
	a.gzips.Put(w)
	return out.Bytes()
}
