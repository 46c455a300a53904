package rest

import (
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

func readCurl(in *doc.Input) (*doc.Document, string) {
	all := commands(string(in.Text))
	curls := 0
	for _, c := range all {
		if isCurl(c) {
			curls++
		}
	}
	if curls == 0 || !isCurl(all[0]) && curls*2 < len(all) {
		return nil, "it does not begin with a curl command"
	}
	var requests []*request
	var problems []doc.Problem
	for _, c := range all {
		in.Meter().Spend(50)
		at := doc.Position{File: in.Name, Line: int32(c.line + 1), Column: 1} //nolint:gosec // at most 32 MB
		switch r := curl(c, at); {
		case r != nil:
			requests = append(requests, r)
		case isCurl(c):
			problems = append(problems, doc.Problem{At: at, Severity: doc.Error, Code: doc.Missing, Message: "this curl command names no URL", Remedy: "write the URL that it asks"})
		default:
			problems = append(problems, doc.Problem{At: at, Severity: doc.Hint, Code: doc.UnknownValue, Message: "this is no curl command: it is left out", Remedy: "take it out"})
		}
	}
	if len(requests) == 0 {
		return nil, "no curl command names a URL"
	}
	return document(doc.Curl, "API", requests, problems), ""
}

func isCurl(c command) bool {
	words := c.words
	if len(words) > 0 && (words[0] == "$" || words[0] == ">") { // the prompt of a shell
		words = words[1:]
	}
	return len(words) > 0 && (words[0] == "curl" || strings.HasSuffix(words[0], "/curl") || words[0] == "curl.exe")
}

// Options of curl by what follows them.
func skipped() []string { // a value that is of no interest
	return []string{
		"-o", "--output", "-w", "--write-out", "-m", "--max-time", "--connect-timeout", "--retry", "--retry-delay", "-x", "--proxy", "-E", "--cert", "--key", "--cacert",
		"-c", "--cookie-jar", "-A", "--user-agent", "-e", "--referer", "--resolve", "-K", "--config", "-r", "--range", "-b", "--cookie", "-D", "--dump-header", "--limit-rate", "--unix-socket", "--tls-max", "-y", "-Y", "-z",
	}
}

// curl reads a command; nil where it is none, or names no URL.
func curl(c command, at doc.Position) *request {
	if !isCurl(c) {
		return nil
	}
	words := c.words[slices.IndexFunc(c.words, func(w string) bool { return strings.HasSuffix(w, "curl") || strings.HasSuffix(w, "curl.exe") })+1:]
	o := options{r: &request{name: c.about, at: at}}
	for i := 0; i < len(words); i++ {
		flag, value, joined := split(words[i])
		if !joined && i+1 < len(words) {
			value = words[i+1]
		}
		if o.take(flag, value) && !joined {
			i++
		}
	}
	return o.done()
}

// split takes --flag=value and -Xvalue apart.
func split(word string) (flag, value string, joined bool) {
	if strings.HasPrefix(word, "--") {
		return strings.Cut(word, "=")
	}
	if len(word) > 2 && word[0] == '-' && strings.ContainsRune("XHdFubAeoGT", rune(word[1])) && word[1] != 'G' {
		return word[:2], word[2:], true
	}
	return word, "", false
}

// options is what was read of one command.
type options struct {
	r     *request
	url   string
	data  []string
	media string
	form  []field
	get   bool
}

// take takes one option and says whether its value is part of it.
func (o *options) take(flag, value string) bool {
	switch flag {
	case "-X", "--request":
		o.r.method = value
	case "--url":
		o.url = value
	case "-d", "--data", "--data-raw", "--data-ascii", "--data-binary", "--data-urlencode":
		o.data = append(o.data, value)
	case "--json":
		o.data, o.media = append(o.data, value), "application/json"
	case "-H", "--header":
		name, text, _ := strings.Cut(value, ":")
		if strings.EqualFold(strings.TrimSpace(name), "content-type") {
			o.media = strings.TrimSpace(text)
		} else if name != "" {
			o.r.addParam(&o.r.headers, doc.InHeader, strings.TrimSpace(name), strings.TrimSpace(text), o.r.at)
		}
	case "-F", "--form", "--form-string":
		name, text, _ := strings.Cut(value, "=")
		o.form = append(o.form, field{name: name, kind: kind("string"), file: strings.HasPrefix(text, "@") && flag != "--form-string", at: o.r.at})
	case "-u", "--user":
		o.r.scheme("basic", doc.Scheme{Type: "basic"})
	case "--oauth2-bearer":
		o.r.scheme("bearer", doc.Scheme{Type: "bearer"})
	case "-T", "--upload-file":
		o.r.method, o.media, o.data = "PUT", "application/octet-stream", append(o.data, "@"+value)
	case "-G", "--get":
		o.get = true
		return false
	case "-I", "--head":
		o.r.method = "HEAD"
		return false
	default:
		if slices.Contains(skipped(), flag) {
			return true
		}
		if !strings.HasPrefix(flag, "-") && o.url == "" {
			o.url = flag
			if value, _, cut := strings.Cut(flag, " "); cut {
				o.url = value
			}
		}
		return false
	}
	return true
}

func (o *options) done() *request {
	r := o.r
	if o.url == "" || o.url == "$" {
		return nil
	}
	if !pattern().opening.MatchString(o.url) && !strings.HasPrefix(o.url, "/") && !strings.HasPrefix(o.url, "$") && !strings.HasPrefix(o.url, "{") {
		o.url = "http://" + o.url // as curl does
	}
	if host, path, cut := strings.Cut(o.url, "/"); cut && (strings.HasPrefix(host, "$") || strings.HasPrefix(host, "{")) {
		o.url = "/" + path // $BASE/path
	}
	r.setURL(o.url, true, r.at)
	data := strings.Join(o.data, "&")
	switch {
	case o.get:
		r.addQuery(data, r.at)
	case len(o.form) > 0:
		r.body = &payload{media: "multipart/form-data", fields: o.form, at: r.at}
	case len(o.data) == 1 && strings.HasPrefix(data, "@"):
		r.body = &payload{media: mediaOf(o.media), at: r.at}
		if r.body.media == "" {
			r.body.media = "application/octet-stream"
		}
	case len(o.data) > 0:
		r.body = newPayload(o.media, data, r.at)
	}
	if r.method == "" {
		r.method = "GET"
		if r.body != nil {
			r.method = "POST"
		}
	}
	return r
}
