package rest

import (
	"regexp"
	"sync"
)

const methods = `GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|QUERY`

// patterns are what texts are looked at with.
type patterns struct {
	atx, fence, delimiter, inline, link, blueprintHead, blueprintAction, blueprintItem, blueprintParam,
	blueprintMedia, specTag, specData, specCall, specLink, embedded, pageTag, placeholder, endpoint,
	bounds, baseURL, listParam, verb, sensitive, braced, angled, shell, colon,
	opening, numeric, uuid, hash, prefixed, long, digit, wordlike *regexp.Regexp
}

// pattern gives the patterns. They are compiled when the first document is read:
// most processes read none, and together they take half a megabyte.
var pattern = sync.OnceValue(func() *patterns { //nolint:gochecknoglobals // it never changes
	return &patterns{
		// Markdown.
		atx:       regexp.MustCompile(`^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$`),
		fence:     regexp.MustCompile("^ {0,3}(```+|~~~+)\\s*([\\w+-]*)"),
		delimiter: regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`),
		inline:    regexp.MustCompile("`([^`]+)`"),
		link:      regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`),

		// API Blueprint.
		blueprintHead:   regexp.MustCompile(`^(#{1,6})\s*(.*?)\s*(?:\[\s*(?:(` + methods + `)\s*)?(/[^\]]*)?\s*\])?\s*$`),
		blueprintAction: regexp.MustCompile(`^(` + methods + `)(?:\s+(/\S*))?$`),
		blueprintItem:   regexp.MustCompile(`^(\s*)[+*-]\s+(.*)$`),
		blueprintParam:  regexp.MustCompile("^`?([\\w.%-]+)`?(?:\\s*[:=]\\s*`?([^`(]*?)`?)?\\s*(?:\\(([^)]*)\\))?\\s*(?:-\\s*(.*))?$"),
		blueprintMedia:  regexp.MustCompile(`\(([-\w.+/]+)[^)]*\)`),

		// Where pages that draw a document say which.
		specTag:  regexp.MustCompile(`(?is)<(?:redoc|rapi-doc|elements-api|rapi-pdf)\b[^>]*?\b(?:spec-url|apiDescriptionUrl)\s*=\s*["']([^"']+)["']`),
		specData: regexp.MustCompile(`(?is)<script\b[^>]*?\bid\s*=\s*["']api-reference["'][^>]*?\bdata-url\s*=\s*["']([^"']+)["']`),
		specCall: regexp.MustCompile(`(?is)(?:SwaggerUIBundle|SwaggerUi|Redoc\.init|RedocStandalone|createApiReference)\s*\(.{0,400}?(?:\burl["']?\s*:\s*)?["']([^"'\s]+\.(?:json|ya?ml)[^"'\s]*|[^"'\s]*(?:openapi|swagger|api-docs)[^"'\s]*)["']`),
		specLink: regexp.MustCompile(`(?is)<link\b[^>]*?\brel\s*=\s*["'](?:service-desc|describedby)["'][^>]*?\bhref\s*=\s*["']([^"']+)["']`),
		embedded: regexp.MustCompile(`(?is)<script\b[^>]*>(.*?)</script>`),
		pageTag:  regexp.MustCompile(`(?is)^\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|div|h[1-6]|p|table|section|article|main)\b`),

		// A place for a value inside a body.
		placeholder: regexp.MustCompile(`"?(\{\{[^{}]*\}\}|<[A-Za-z_][-\w ]*>)"?`),

		// What pages say.
		endpoint:  regexp.MustCompile(`\b(` + methods + `)\b[\s:]+\**((?:https?://|/|\{\{?[A-Za-z_]+\}?\}/)[^\s"'<>]*(?:<[-\w]+>[^\s"'<>]*)*)`),
		bounds:    regexp.MustCompile("[`*,;.)]+$"),
		baseURL:   regexp.MustCompile(`(?i)(?:base\s*(?:url|uri|path)|root\s*(?:url|endpoint)|api\s*(?:url|endpoint|root)|server|host|hosted at|requests? (?:are|is) (?:made|sent) to)(?:\W|is|are|at){0,12}(https?://[^\s"'<>)]+)`),
		listParam: regexp.MustCompile("^(?:[-*+]|\\d+\\.)\\s+(?:`([-\\w.\\[\\]]+)`|\\*\\*([-\\w.]+)\\*\\*|([-\\w.]+)(?:\\s*\\())[^\\w(]*(?:\\(?([^):–—]*)\\)?)?\\s*[-:–—]?\\s*(.*)$"),

		verb: regexp.MustCompile(`^(` + methods + `)$`),

		sensitive: regexp.MustCompile(`(?i)^(x-)?(api[-_]?key|apikey|access[-_]?key|access[-_]?token|auth[-_]?token|id[-_]?token|refresh[-_]?token|session([-_]?id)?|token|secret|client[-_]?secret|password|passwd|signature|sig|csrf[-_]?token|xsrf[-_]?token)$|(?i)[-_](api[-_]?key|token|secret)$`),

		// Ways to write a parameter inside a URL, and values that name one thing among many.
		braced:   regexp.MustCompile(`\{\{?\s*[-A-Za-z_$][-\w.$ ]*\s*\}?\}`), // {id} and {{id}}
		angled:   regexp.MustCompile(`<([-A-Za-z_][-\w. ]*)>`),               // <id>
		shell:    regexp.MustCompile(`\$\{?([A-Za-z_]\w*)\}?`),               // $ID and ${ID}
		colon:    regexp.MustCompile(`^:([A-Za-z_][-\w]*)$`),                 // :id, a segment of its own
		opening:  regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`),
		numeric:  regexp.MustCompile(`^[0-9]+$`),
		uuid:     regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`),
		hash:     regexp.MustCompile(`(?i)^[0-9a-f]{8,}$`),
		prefixed: regexp.MustCompile(`^[A-Za-z]+[-_][A-Za-z0-9_-]{10,}$`),
		long:     regexp.MustCompile(`^[A-Za-z0-9_-]{20,}$`),
		digit:    regexp.MustCompile(`[0-9]`),
		wordlike: regexp.MustCompile(`^[a-z]+([-_.][a-z]+)*$`),
	}
})
