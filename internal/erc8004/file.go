package erc8004

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/ipfs"
)

const (
	maxFileBytes = ipfs.MaxFile
	fileTimeout  = 10 * time.Second
)

// Errors of Files.Get and File.Agrees. Only ErrUnreachable may be temporary.
var (
	ErrUnreachable = errors.New("the file cannot be fetched at the moment")
	ErrMismatch    = errors.New("the file does not match its hash on the chain")
	ErrContradicts = errors.New("the file contradicts the chain")
	ErrUnusable    = errors.New("the file is not used")
)

// Proof is what proves that a file is the one that was meant.
type Proof string

// Proofs.
const (
	ProofNone   Proof = "none"       // nothing: the file came over https, and the chain has no hash of it
	ProofCID    Proof = "cid"        // its content identifier
	ProofHash   Proof = "keccak"     // the hash on the chain
	ProofBoth   Proof = "cid+keccak" // both
	ProofInline Proof = "inline"     // the content is on the chain itself
)

// File is a file that an event or a token refers to.
type File struct {
	URI     string
	Content []byte
	Proof   Proof
}

// Proved reports whether the content is certainly what its author meant.
func (f File) Proved() bool { return f.Proof != ProofNone }

// Files fetches files by the three schemes that the registries use: ipfs, https
// and data.
type Files struct {
	Web  Doer
	IPFS *ipfs.Reader
}

// Get fetches a file and verifies it: by its content identifier, and by the
// hash on the chain, if hash is not zero.
func (f *Files) Get(ctx context.Context, uri string, hash Word) (File, error) {
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	file, err := f.fetchFile(ctx, uri)
	if err != nil {
		return File{}, err
	}
	if hash.IsZero() {
		return file, nil
	}
	if got := Keccak(file.Content); got != hash {
		return File{}, fmt.Errorf("%w: %s: expected keccak256 %s, the file has %s", ErrMismatch, ipfs.Shorten(uri), hash, got)
	}
	if file.Proof == ProofCID {
		file.Proof = ProofBoth
	} else {
		file.Proof = ProofHash
	}
	return file, nil
}

// fetchFile fetches a file without comparing the hash on the chain.
func (f *Files) fetchFile(ctx context.Context, uri string) (File, error) {
	scheme, _, _ := strings.Cut(uri, ":")
	switch strings.ToLower(scheme) {
	case "ipfs":
		content, err := f.IPFS.Read(ctx, ipfs.Scheme+strings.TrimLeft(uri[len(scheme)+1:], "/"))
		switch {
		case errors.Is(err, ipfs.ErrUnsupported), errors.Is(err, ipfs.ErrTooLarge):
			return File{}, fmt.Errorf("%w: %w", ErrUnusable, err)
		case err != nil:
			// Wrong bytes are the fault of a gateway, not of the file: try again later.
			return File{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		return File{URI: uri, Content: content, Proof: ProofCID}, nil
	case "https", "http":
		content, err := f.download(ctx, uri)
		return File{URI: uri, Content: content, Proof: ProofNone}, err
	case "data":
		content, err := decodeDataURI(uri)
		return File{URI: ipfs.Shorten(uri), Content: content, Proof: ProofInline}, err
	}
	return File{}, fmt.Errorf("%w: %q must be an address with the scheme ipfs, https or data", ErrUnusable, ipfs.Shorten(uri))
}

// download fetches a file over HTTP, through egress.
func (f *Files) download(ctx context.Context, uri string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	req.Header.Set("Accept", "application/json, */*;q=0.5")
	resp, err := f.Web.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fetchErrorKind(err), err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusOK:
	// A file may be published later than the event, so 404 is temporary.
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode >= 500, resp.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("%w: %s answers HTTP %d", ErrUnreachable, ipfs.Shorten(uri), resp.StatusCode)
	default:
		return nil, fmt.Errorf("%w: %s answers HTTP %d", ErrUnusable, ipfs.Shorten(uri), resp.StatusCode)
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", fetchErrorKind(err), ipfs.Shorten(uri), err)
	}
	if len(content) > maxFileBytes {
		return nil, fmt.Errorf("%w: %s is larger than %d bytes", ErrUnusable, ipfs.Shorten(uri), maxFileBytes)
	}
	return content, nil
}

// fetchErrorKind returns ErrUnusable for permanent failures, such as an address
// that egress denies, otherwise ErrUnreachable.
func fetchErrorKind(err error) error {
	switch junctor.CodeOf(err) { //nolint:exhaustive // the others are temporary
	case junctor.CodeDenied, junctor.CodeInvalid, junctor.CodeTooLarge:
		return ErrUnusable
	}
	return ErrUnreachable
}

// decodeDataURI decodes a data: URI.
func decodeDataURI(uri string) ([]byte, error) {
	head, body, ok := strings.Cut(uri[len("data:"):], ",")
	if !ok {
		return nil, fmt.Errorf("%w: the data: address has no comma", ErrUnusable)
	}
	plain, err := url.PathUnescape(body)
	if err != nil {
		return nil, fmt.Errorf("%w: invalid data: address: %w", ErrUnusable, err)
	}
	content := []byte(plain)
	if strings.HasSuffix(strings.ToLower(strings.TrimSpace(head)), "base64") {
		plain = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "").Replace(plain), "=")
		if content, err = base64.RawStdEncoding.DecodeString(plain); err != nil {
			return nil, fmt.Errorf("%w: invalid data: address: %w", ErrUnusable, err)
		}
	}
	if len(content) > maxFileBytes {
		return nil, fmt.Errorf("%w: the data: address is larger than %d bytes", ErrUnusable, maxFileBytes)
	}
	return content, nil
}

// Value returns the content in the form that a tool receives: JSON as it is,
// other content as an object with its media type.
func (f File) Value() json.RawMessage {
	if utf8.Valid(f.Content) && json.Valid(f.Content) {
		return bytes.TrimSpace(f.Content)
	}
	kind, _, err := mime.ParseMediaType(http.DetectContentType(f.Content))
	if err != nil {
		kind = "application/octet-stream"
	}
	out := map[string]string{"mimeType": kind}
	if utf8.Valid(f.Content) && strings.HasPrefix(kind, "text/") {
		out["text"] = string(f.Content)
	} else {
		out["base64"] = base64.StdEncoding.EncodeToString(f.Content)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// Agrees compares the file of an event with the event. If both state the agent,
// the client or the value, they must be equal; otherwise the error is
// ErrContradicts.
func (f File) Agrees(e Seen) error {
	if e.Kind != KindFeedback {
		return nil
	}
	o, err := parseObject(f.Content, "")
	if err != nil {
		return nil //nolint:nilerr // only a JSON object can contradict the event
	}
	if v, ok := o["agentId"]; ok {
		id, err := parseID(strings.Trim(string(bytes.TrimSpace(v)), `"`))
		if err != nil || id != e.Agent {
			return newContradiction("agentId", string(v), e.Agent)
		}
	}
	if v, ok := o["agentRegistry"]; ok {
		var text string
		_ = json.Unmarshal(v, &text)
		chain, at, err := parseAccount(text)
		if err != nil || chain != e.Chain || at != e.Registry {
			return newContradiction("agentRegistry", string(v), Agent{Chain: e.Chain, Registry: e.Registry}.registryID())
		}
	}
	if v, ok := o["clientAddress"]; ok {
		var text string
		_ = json.Unmarshal(v, &text)
		if text = text[strings.LastIndex(text, ":")+1:]; !strings.EqualFold(text, e.Client.String()) {
			return newContradiction("clientAddress", string(v), e.Client.String())
		}
	}
	for _, key := range []string{"value", "score"} {
		v, ok := o[key]
		if !ok || (key == "score" && !e.Scored) {
			continue
		}
		if text := strings.Trim(string(bytes.TrimSpace(v)), `"`); e.Value != nil && text != e.Value.String() && text != e.Decimal() {
			return newContradiction(key, string(v), e.Value.String())
		}
	}
	return nil
}

// newContradiction makes the error for a member that differs.
func newContradiction(key, file, chain string) error {
	return fmt.Errorf("%w: /%s is %s, the chain says %s", ErrContradicts, key, ipfs.Shorten(file), chain)
}
