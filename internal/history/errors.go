package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
)

// wrapError turns an error of the database into one that may cross packages. The
// database's own message stays in the cause, because it can quote values.
func (h *History) wrapError(ctx context.Context, err error, doing string, args ...any) error {
	if known, ok := errors.AsType[*junctor.Error](err); ok {
		return known
	}
	doing = fmt.Sprintf(doing, args...)
	for _, e := range []error{err, ctx.Err()} {
		if code := junctor.CodeOf(e); code == junctor.CodeTimeout || code == junctor.CodeCanceled {
			return &junctor.Error{Code: code, Cause: err, Message: "cannot " + doing + ": " + junctor.AsError(e).Message}
		}
	}
	if code := h.options.Dialect.Code(err); code == junctor.CodeUnavailable || h.closing.Load() {
		return &junctor.Error{Code: junctor.CodeUnavailable, Cause: err, Message: "cannot " + doing + ": the database is unavailable; the log has the reason"}
	}
	return &junctor.Error{Code: junctor.CodeInternal, Cause: err, Message: "cannot " + doing + ": the database refused it; the log has the reason"}
}

// maxTextBytes is the longest name or reason that is stored.
const maxTextBytes = 2048

// storableText returns s in a form that every database can store: valid UTF-8
// without NUL, at most maxTextBytes long.
func storableText(s string) string {
	s = s[:min(len(s), maxTextBytes)]
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}

// storableBytes is storableText for bytes. It returns s itself if that can be
// stored.
func storableBytes(s []byte) []byte {
	s = s[:min(len(s), maxTextBytes)]
	if bytes.IndexByte(s, 0) < 0 && utf8.Valid(s) {
		return s
	}
	return []byte(storableText(string(s)))
}
