package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/policy"
)

// FilterOptions configures Filters. All fields are required.
type FilterOptions struct {
	Client *http.Client // of package egress, for addresses that operators enter
	// ReadSecret reads the secret that a rule refers to.
	ReadSecret func(ctx context.Context, reference string) (string, error)
	Now        func() time.Time
	NewID      func() string
}

// Filters asks the webhooks of rules for verdicts. It implements policy.Filter, and is safe
// for concurrent use.
type Filters struct {
	o FilterOptions

	mu      sync.Mutex
	outages map[string]*outage // by URL
}

// outage counts the failures of one filter in a row.
type outage struct {
	failures int
	until    time.Time // no request is sent before
}

// Bounds of requests to filters.
const (
	defaultFilterTimeout = 2 * time.Second
	maxFilterAnswer      = 64 << 10
	maxFilterMessage     = 500
	filterFailures       = 5 // in a row; then the filter is left alone for filterPause
	filterPause          = 10 * time.Second
	maxOutages           = 1000 // URLs that are remembered
)

// NewFilters makes Filters.
func NewFilters(o FilterOptions) *Filters { return &Filters{o: o, outages: map[string]*outage{}} }

// filterRequest is what a filter receives. It is signed as Standard Webhooks describes.
type filterRequest struct {
	Rule      string              `json:"rule"`
	Phase     junctor.PolicyPhase `json:"phase"`
	Principal policy.Subject      `json:"principal"`
	Kind      junctor.Kind        `json:"kind"`
	Server    string              `json:"server"`
	Name      string              `json:"name"`
	Digest    string              `json:"digest,omitempty"` // of the tool's definition
	Args      json.RawMessage     `json:"args,omitempty"`
	Result    json.RawMessage     `json:"result,omitempty"`
	Entry     junctor.EntryPoint  `json:"entry_point"`
	Address   string              `json:"address,omitempty"`
	Time      time.Time           `json:"time"`
}

// filterAnswer is what a filter answers with status 200.
type filterAnswer struct {
	Verdict junctor.PolicyVerdict `json:"verdict"` // allow or deny
	Message string                `json:"message"` // for the caller, if it denies
}

// Ask implements policy.Filter.
func (f *Filters) Ask(ctx context.Context, r *junctor.PolicyRule, c *policy.Call, result []byte) (junctor.PolicyVerdict, string, error) {
	if err := f.checkOutage(r.Filter.URL); err != nil {
		return "", "", err
	}
	answer, err := f.send(ctx, r, c, result)
	f.noteOutcome(r.Filter.URL, err)
	if err != nil {
		return "", "", err
	}
	return answer.Verdict, junctor.ShortenText(answer.Message, maxFilterMessage), nil
}

// send sends one request and reads its answer.
func (f *Filters) send(ctx context.Context, r *junctor.PolicyRule, c *policy.Call, result []byte) (filterAnswer, error) {
	body, err := json.Marshal(filterRequest{
		Rule: r.Name, Phase: r.Phase, Principal: c.Subject, Kind: c.Kind, Server: c.Server, Name: c.Name, Digest: c.Digest(), Args: c.Arguments, Result: result,
		Entry: c.EntryPoint, Address: c.AddressText(), Time: c.Time,
	})
	if err != nil {
		return filterAnswer{}, junctor.Errorf(junctor.CodeInternal, "the request of the filter cannot be encoded: %w", err)
	}
	timeout := time.Duration(r.Filter.Timeout)
	if timeout == 0 {
		timeout = defaultFilterTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Filter.URL, bytes.NewReader(body))
	if err != nil {
		return filterAnswer{}, junctor.Errorf(junctor.CodeInvalid, "filter.url is not a valid URL")
	}
	req.Header.Set("Content-Type", "application/json")
	if r.Filter.Secret != "" {
		secret, err := f.o.ReadSecret(ctx, r.Filter.Secret)
		if err != nil {
			return filterAnswer{}, err
		}
		id, now := f.o.NewID(), f.o.Now()
		req.Header.Set(junctor.HeaderWebhookID, id)
		req.Header.Set(junctor.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
		req.Header.Set(junctor.HeaderWebhookSignature, junctor.SignWebhook(secret, id, now, body))
	}
	resp, err := f.o.Client.Do(req)
	if err != nil {
		return filterAnswer{}, junctor.Errorf(junctor.CodeUnavailable, "the filter of the rule did not answer: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxFilterAnswer+1))
	var answer filterAnswer
	switch {
	case err != nil:
		return answer, junctor.Errorf(junctor.CodeUnavailable, "the answer of the filter ended early: %w", err)
	case resp.StatusCode != http.StatusOK:
		return answer, junctor.Errorf(junctor.CodeUnavailable, "the filter answered with HTTP status %d instead of 200", resp.StatusCode)
	case len(text) > maxFilterAnswer:
		return answer, junctor.Errorf(junctor.CodeUnavailable, "the answer of the filter has more than %d bytes", maxFilterAnswer)
	case json.Unmarshal(text, &answer) != nil || answer.Verdict != junctor.VerdictAllow && answer.Verdict != junctor.VerdictDeny:
		return answer, junctor.Errorf(junctor.CodeUnavailable, `the answer of the filter has no verdict; it must be {"verdict":"allow"} or {"verdict":"deny"}`)
	}
	return answer, nil
}

// checkOutage returns an error while a filter is left alone after failures.
func (f *Filters) checkOutage(url string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.outages[url]
	if o == nil || o.failures < filterFailures {
		return nil
	}
	now := f.o.Now()
	if now.Before(o.until) {
		return junctor.Errorf(junctor.CodeUnavailable, "the filter of the rule failed %d times in a row; it is asked again in %s", o.failures, o.until.Sub(now).Round(time.Second))
	}
	o.until = now.Add(filterPause) // one request tries; the others wait for what becomes of it
	return nil
}

// noteOutcome counts a failure, or forgets those before a success. A caller who leaves is no
// failure of the filter.
func (f *Filters) noteOutcome(url string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.outages[url]
	switch {
	case err == nil:
		delete(f.outages, url)
		return
	case junctor.CodeOf(err) == junctor.CodeCanceled:
		return
	case o == nil:
		if len(f.outages) >= maxOutages {
			clear(f.outages)
		}
		o = &outage{}
		f.outages[url] = o
	}
	if o.failures++; o.failures >= filterFailures {
		o.until = f.o.Now().Add(filterPause)
	}
}
