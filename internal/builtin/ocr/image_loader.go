package ocr

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// argImagePath is the name of the argument, for messages.
const argImagePath = "image_path"

// imageLoader loads the image that an argument image_path refers to.
type imageLoader struct {
	roots  []string // folders that may be read, absolute and clean
	client *http.Client
}

// loadImage returns an image of a kind that the engines can read.
func (im *imageLoader) loadImage(ctx context.Context, path string) ([]byte, error) {
	data, err := im.fetchBytes(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := checkKind(data); err != nil {
		return nil, err
	}
	return data, nil
}

// fetchBytes returns the bytes of a data: URI, an https URL or a file.
func (im *imageLoader) fetchBytes(ctx context.Context, path string) ([]byte, error) {
	scheme, _, found := strings.Cut(path, ":")
	switch scheme = strings.ToLower(scheme); {
	case path == "":
		return nil, newArgumentError(junctor.CodeInvalid, argImagePath, "it is empty: give a file, a data: URI or an https URL")
	case found && scheme == "data":
		return decodeDataURI(path)
	case found && scheme == "https":
		return im.downloadImage(ctx, path)
	case strings.Contains(path, "://"):
		return nil, newArgumentError(junctor.CodeInvalid, argImagePath, "only https URLs are fetched, not "+quoteShort(scheme)+"; a file is given by its path alone")
	default:
		return im.readFile(path)
	}
}

// decodeDataURI decodes data:[type][;parameters];base64,…. The type is ignored:
// checkKind looks at the bytes.
func decodeDataURI(uri string) ([]byte, error) {
	head, body, found := strings.Cut(uri[len("data:"):], ",")
	if !found || !strings.HasSuffix(strings.ToLower(head), ";base64") {
		return nil, newArgumentError(junctor.CodeInvalid, argImagePath, "a data: URI must be in base64: data:image/png;base64,…")
	}
	// Padding is optional, and some clients add a line break.
	body = strings.TrimRight(body, "=\r\n ")
	if base64.RawStdEncoding.DecodedLen(len(body)) > MaxImage {
		return nil, newTooLargeError("the data: URI")
	}
	data, err := base64.RawStdEncoding.DecodeString(body)
	if err != nil {
		return nil, newArgumentError(junctor.CodeInvalid, argImagePath, "the base64 of the data: URI is damaged or incomplete")
	}
	return data, nil
}

// downloadImage fetches an https URL. Messages never contain the URL, which may
// have a signature: they name only the host.
func (im *imageLoader) downloadImage(ctx context.Context, address string) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil, newArgumentError(junctor.CodeInvalid, argImagePath, "the URL has no host")
	}
	if u.User != nil {
		return nil, newArgumentError(junctor.CodeInvalid, argImagePath, "the URL must not hold a user or password")
	}
	// A fragment is not part of a request.
	u.Fragment, u.RawFragment = "", ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, newArgumentError(junctor.CodeInvalid, argImagePath, "the URL is invalid")
	}
	req.Header.Set("Accept", "image/*")
	resp, err := im.client.Do(req)
	if err != nil {
		return nil, newImageError(u.Host, err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode != http.StatusOK:
		return nil, newArgumentError(junctor.CodeUpstream, argImagePath, u.Host+" answered "+strconv.Itoa(resp.StatusCode)+" instead of an image: check the URL, and that it needs no login")
	case resp.ContentLength > MaxImage:
		return nil, newTooLargeError("the image at " + u.Host)
	}
	data, err := readUpTo(resp.Body, MaxImage)
	switch {
	case err != nil:
		return nil, newImageError(u.Host, err)
	case data == nil:
		return nil, newTooLargeError("the image at " + u.Host)
	}
	return data, nil
}

// newImageError describes a failed download. A refusal by egress is the fault
// of the argument.
func newImageError(host string, err error) error {
	e := newExchangeError("the image at "+host, err)
	if e.Code == junctor.CodeDenied || e.Code == junctor.CodeInvalid || e.Code == junctor.CodeTooLarge {
		return newArgumentError(e.Code, argImagePath, e.Message)
	}
	return e
}

// readUpTo reads everything. nil without an error means that there is more than
// limit.
func readUpTo(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > limit:
		return nil, nil
	case data == nil:
		return []byte{}, nil
	}
	return data, nil
}

// newTooLargeError is the error for an image above MaxImage.
func newTooLargeError(what string) error {
	return newArgumentError(junctor.CodeTooLarge, argImagePath, fmt.Sprintf("%s is larger than %d MiB: make the image smaller; 300 dots per inch are enough for text", what, MaxImage>>20))
}

// quoteShort quotes a caller's text for a message, limited in length.
func quoteShort(s string) string {
	const most = 200
	if len(s) > most {
		return strconv.Quote(s[:most]) + "…"
	}
	return strconv.Quote(s)
}
