package ocr

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
)

// visionResponse is the HTTP response of Cloud Vision.
type visionResponse struct {
	status     int
	retryAfter string // the Retry-After header
	body       []byte
}

// googleStatus is Google's form of an error, both for a request and for one
// image.
type googleStatus struct {
	Code    int    `json:"code"`   // an HTTP status for a request, a gRPC code for an image
	Status  string `json:"status"` // the gRPC code as text; only for a request
	Message string `json:"message"`
	Details []struct {
		RetryDelay string `json:"retryDelay"`
	} `json:"details"`
}

// annotateResponse is the body of a successful images:annotate.
type annotateResponse struct {
	Responses []struct {
		Error *googleStatus `json:"error"`
		Full  struct {
			Text  string          `json:"text"`
			Pages []annotatedPage `json:"pages"`
		} `json:"fullTextAnnotation"`
	} `json:"responses"`
}

// annotatedPage is a page of the recognised text.
type annotatedPage struct {
	Confidence float64 `json:"confidence"`
	Blocks     []struct {
		Confidence float64 `json:"confidence"`
	} `json:"blocks"`
}

// readText returns the recognised text, or the error that the response
// describes. secret is the credential of the request; it is removed from
// messages that repeat it.
func (a *visionResponse) readText(secret string) (Text, error) {
	if a.status != http.StatusOK {
		var refusal struct {
			Error googleStatus `json:"error"`
		}
		if json.Unmarshal(a.body, &refusal) != nil {
			refusal.Error = googleStatus{} // a page of some proxy: only its status is usable
		}
		return Text{}, refusal.Error.toError(a.status, a.retryAfter, secret)
	}
	var got annotateResponse
	if json.Unmarshal(a.body, &got) != nil || len(got.Responses) == 0 {
		return Text{}, junctor.Errorf(junctor.CodeUpstream, "the answer of Google Cloud Vision is not a response of images:annotate: check that ocr-vision-url is the address of Cloud Vision, and that no proxy changes responses")
	}
	r := &got.Responses[0]
	if r.Error != nil && r.Error.Code != 0 {
		return Text{}, r.Error.toError(statusFromGRPC(r.Error.Code), a.retryAfter, secret)
	}
	// An image without text is a success with an empty result.
	lines := splitLines(r.Full.Text)
	if len(lines) == 0 {
		return Text{Lines: []string{}}, nil
	}
	return Text{Text: r.Full.Text, Confidence: meanConfidence(r.Full.Pages), Lines: lines}, nil
}

// splitLines returns the lines that are not blank, in their order.
func splitLines(text string) []string {
	lines := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// meanConfidence returns the mean over the pages that have a confidence: their
// own, or the mean of their blocks.
func meanConfidence(pages []annotatedPage) float64 {
	var all shareMean
	for _, p := range pages {
		if p.Confidence > 0 {
			all.addShare(p.Confidence)
			continue
		}
		var blocks shareMean
		for _, b := range p.Blocks {
			if b.Confidence > 0 {
				blocks.addShare(b.Confidence)
			}
		}
		if blocks.n > 0 {
			all.addShare(blocks.meanValue())
		}
	}
	return all.meanValue()
}

// shareMean computes a mean of values, each limited to 0 to 1.
type shareMean struct {
	sum float64
	n   int
}

// addShare adds a value.
func (m *shareMean) addShare(v float64) { m.sum, m.n = m.sum+min(max(v, 0), 1), m.n+1 }

// meanValue returns the mean, rounded to four digits, which is the precision of
// the engines; 0 if there is no value.
func (m *shareMean) meanValue() float64 {
	if m.n == 0 {
		return 0
	}
	return math.Round(m.sum/float64(m.n)*1e4) / 1e4
}

// statusFromGRPC returns the HTTP status for the gRPC codes that one image can
// fail with.
func statusFromGRPC(code int) int {
	switch code {
	case 3, 9, 11: // invalid argument, failed precondition, out of range
		return http.StatusBadRequest
	case 4: // deadline exceeded
		return http.StatusGatewayTimeout
	case 7: // permission denied
		return http.StatusForbidden
	case 8: // resource exhausted
		return http.StatusTooManyRequests
	case 16: // unauthenticated
		return http.StatusUnauthorized
	case 14: // unavailable
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// toError converts a refusal to an error that explains it and what to do. code
// is the HTTP status.
func (s *googleStatus) toError(code int, retryAfter, secret string) error {
	detail := ""
	if m := scrubText(s.Message, secret); m != "" {
		detail = ": " + m
	}
	upstream := func(format string, args ...any) error {
		return &junctor.Error{Code: junctor.CodeUpstream, Message: fmt.Sprintf(format, args...) + detail}
	}
	switch {
	case code == http.StatusTooManyRequests || s.Status == "RESOURCE_EXHAUSTED":
		wait := s.retryDelay(retryAfter)
		return &junctor.Error{
			Code: junctor.CodeLimited, RetryAfter: wait,
			Message: fmt.Sprintf("the quota of Google Cloud Vision is used up: try again in %v, or raise the quota in the Google Cloud console", wait) + detail,
		}
	case code == http.StatusUnauthorized, code == http.StatusBadRequest && strings.Contains(s.Message, "API key"):
		return upstream("Google Cloud Vision does not accept the credential (status %d); check that the key is complete and not deleted", code)
	case code == http.StatusForbidden:
		return upstream("Google Cloud Vision denies this credential access (status 403); check that the Vision API and billing are enabled in its project, and that the key may use it")
	case code == http.StatusRequestEntityTooLarge, code == http.StatusBadRequest && strings.Contains(s.Message, "payload size exceeds"):
		return newArgumentError(junctor.CodeTooLarge, argImagePath, "the image is too large for Google Cloud Vision: make it smaller; 300 dots per inch are enough for text")
	case code == http.StatusBadRequest:
		return upstream("Google Cloud Vision cannot read this image (status 400); check that it is not damaged")
	case code == http.StatusGatewayTimeout:
		return &junctor.Error{Code: junctor.CodeTimeout, Message: "Google Cloud Vision did not finish in time: try again, or use a smaller image"}
	case code >= 500:
		return upstream("Google Cloud Vision reports an error of its own (status %d); try again later", code)
	}
	return upstream("Google Cloud Vision answered with status %d instead of text; check that ocr-vision-url leads to it", code)
}

// retryDelay returns how long to wait for more quota: as the response says, or
// a minute, since most quotas are counted per minute.
func (s *googleStatus) retryDelay(header string) time.Duration {
	const usual, most = time.Minute, 24 * time.Hour
	for _, d := range s.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			return min(wait.Round(time.Millisecond)+time.Millisecond, most)
		}
	}
	if seconds, err := strconv.Atoi(header); err == nil && seconds > 0 && seconds < int(most/time.Second) {
		return time.Duration(seconds) * time.Second
	}
	return usual
}
