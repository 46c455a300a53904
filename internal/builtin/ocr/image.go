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

const imagePath = "image_path" // the argument, as messages name it

// images brings the bytes that an image_path means.
type images struct {
	roots  []string // absolute and clean
	client *http.Client
}

// load gives an image of one of the kinds that the engines read.
func (im *images) load(ctx context.Context, path string) ([]byte, error) {
	data, err := im.fetch(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := checkKind(data); err != nil {
		return nil, err
	}
	return data, nil
}

func (im *images) fetch(ctx context.Context, path string) ([]byte, error) {
	scheme, _, found := strings.Cut(path, ":")
	switch scheme = strings.ToLower(scheme); {
	case path == "":
		return nil, unfit(junctor.CodeInvalid, imagePath, "it is empty: give a file, a data: URI or an https URL")
	case found && scheme == "data":
		return decodeDataURI(path)
	case found && scheme == "https":
		return im.download(ctx, path)
	case strings.Contains(path, "://"):
		return nil, unfit(junctor.CodeInvalid, imagePath, "only https URLs are fetched, not "+shorten(scheme)+"; a file is given by its path alone")
	default:
		return im.open(path)
	}
}

// decodeDataURI reads data:[type][;parameters];base64,…; what the type says is
// left aside, since the bytes say it themselves.
func decodeDataURI(uri string) ([]byte, error) {
	head, body, found := strings.Cut(uri[len("data:"):], ",")
	if !found || !strings.HasSuffix(strings.ToLower(head), ";base64") {
		return nil, unfit(junctor.CodeInvalid, imagePath, "a data: URI must be in base64: data:image/png;base64,…")
	}
	body = strings.TrimRight(body, "=\r\n ")
	if base64.RawStdEncoding.DecodedLen(len(body)) > MaxImage {
		return nil, tooLarge("the data: URI")
	}
	data, err := base64.RawStdEncoding.DecodeString(body)
	if err != nil {
		return nil, unfit(junctor.CodeInvalid, imagePath, "the base64 of the data: URI is damaged; was it cut off?")
	}
	return data, nil
}

// download never shows the URL, which may hold a signature: the host is enough.
func (im *images) download(ctx context.Context, address string) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil, unfit(junctor.CodeInvalid, imagePath, "this is not a URL with a host")
	}
	if u.User != nil {
		return nil, unfit(junctor.CodeInvalid, imagePath, "the URL must not hold a user or password")
	}
	u.Fragment, u.RawFragment = "", ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, unfit(junctor.CodeInvalid, imagePath, "this is not a URL that can be fetched")
	}
	req.Header.Set("Accept", "image/*")
	resp, err := im.client.Do(req)
	if err != nil {
		return nil, imageFailure(u.Host, err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode != http.StatusOK:
		return nil, unfit(junctor.CodeUpstream, imagePath, u.Host+" answered "+strconv.Itoa(resp.StatusCode)+" instead of an image: check the URL, and that it needs no login")
	case resp.ContentLength > MaxImage:
		return nil, tooLarge("the image at " + u.Host)
	}
	data, err := readUpTo(resp.Body, MaxImage)
	switch {
	case err != nil:
		return nil, imageFailure(u.Host, err)
	case data == nil:
		return nil, tooLarge("the image at " + u.Host)
	}
	return data, nil
}

// imageFailure says what egress refused to fetch as a fault of the argument.
func imageFailure(host string, err error) error {
	e := failure("the image at "+host, err)
	if e.Code == junctor.CodeDenied || e.Code == junctor.CodeInvalid || e.Code == junctor.CodeTooLarge {
		return unfit(e.Code, imagePath, e.Message)
	}
	return e
}

// readUpTo reads everything; nil without an error means that there is more than
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

func tooLarge(what string) error {
	return unfit(junctor.CodeTooLarge, imagePath, fmt.Sprintf("%s is larger than %d MiB: make the image smaller; 300 dots per inch are enough for text", what, MaxImage>>20))
}

// shorten quotes a text that others wrote, for a message.
func shorten(s string) string {
	const most = 200
	if len(s) > most {
		return strconv.Quote(s[:most]) + "…"
	}
	return strconv.Quote(s)
}
