package ocr

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// newExchangeError gives an error of an HTTP exchange a code and a message. It
// drops the URL that net/http adds, since the URL may be a signed one.
func newExchangeError(what string, err error) *junctor.Error {
	timedOut := false
	if around, ok := errors.AsType[*url.Error](err); ok {
		timedOut, err = around.Timeout(), around.Err
	}
	var own *junctor.Error
	switch {
	case timedOut, errors.Is(err, context.DeadlineExceeded), junctor.CodeOf(err) == junctor.CodeTimeout:
		return &junctor.Error{Code: junctor.CodeTimeout, Message: what + " did not arrive in time: try again, or use a smaller image", Cause: err}
	case errors.Is(err, context.Canceled):
		return junctor.AsError(context.Canceled)
	case errors.As(err, &own):
		return &junctor.Error{Code: own.Code, Message: what + " could not be fetched: " + own.Message, Cause: err}
	}
	return &junctor.Error{Code: junctor.CodeUpstream, Message: what + " could not be fetched: the connection failed or was interrupted; try again", Cause: err}
}

// scrubText prepares a text from outside for a message: one line, limited in
// length, and without secrets that it may repeat. Google names the key that it
// refuses.
func scrubText(text string, secrets ...string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	text = regexp.MustCompile(`AIza[0-9A-Za-z_-]{10,}|ya29\.[0-9A-Za-z_.-]+|-----BEGIN[^-]*-----`).ReplaceAllString(text, "***")
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "�")), " ")
	const most = 300
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}
