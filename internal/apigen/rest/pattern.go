package rest

import (
	"regexp"
	"sync"
)

// lazy is a pattern that is compiled when it is first used: most processes never
// read such a document, and all of them together take half a megabyte.
func lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

const methods = `GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|QUERY`

var ( //nolint:gochecknoglobals // patterns, which never change
	// Markdown.
	atx       = lazy(`^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$`)
	fence     = lazy("^ {0,3}(```+|~~~+)\\s*([\\w+-]*)")
	delimiter = lazy(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`)
	inline    = lazy("`([^`]+)`")
	link      = lazy(`\[([^\]]*)\]\([^)]*\)`)

	// API Blueprint.
	blueprintHead   = lazy(`^(#{1,6})\s*(.*?)\s*(?:\[\s*(?:(` + methods + `)\s*)?(/[^\]]*)?\s*\])?\s*$`)
	blueprintAction = lazy(`^(` + methods + `)(?:\s+(/\S*))?$`)
	blueprintItem   = lazy(`^(\s*)[+*-]\s+(.*)$`)
	blueprintParam  = lazy("^`?([\\w.%-]+)`?(?:\\s*[:=]\\s*`?([^`(]*?)`?)?\\s*(?:\\(([^)]*)\\))?\\s*(?:-\\s*(.*))?$")
	blueprintMedia  = lazy(`\(([-\w.+/]+)[^)]*\)`)

	// Where pages that draw a document say which.
	specTag  = lazy(`(?is)<(?:redoc|rapi-doc|elements-api|rapi-pdf)\b[^>]*?\b(?:spec-url|apiDescriptionUrl)\s*=\s*["']([^"']+)["']`)
	specData = lazy(`(?is)<script\b[^>]*?\bid\s*=\s*["']api-reference["'][^>]*?\bdata-url\s*=\s*["']([^"']+)["']`)
	specCall = lazy(`(?is)(?:SwaggerUIBundle|SwaggerUi|Redoc\.init|RedocStandalone|createApiReference)\s*\(.{0,400}?(?:\burl["']?\s*:\s*)?["']([^"'\s]+\.(?:json|ya?ml)[^"'\s]*|[^"'\s]*(?:openapi|swagger|api-docs)[^"'\s]*)["']`)
	specLink = lazy(`(?is)<link\b[^>]*?\brel\s*=\s*["'](?:service-desc|describedby)["'][^>]*?\bhref\s*=\s*["']([^"']+)["']`)
	embedded = lazy(`(?is)<script\b[^>]*>(.*?)</script>`)
	pageTag  = lazy(`(?is)^\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|div|h[1-6]|p|table|section|article|main)\b`)

	// A place for a value inside a body.
	placeholder = lazy(`"?(\{\{[^{}]*\}\}|<[A-Za-z_][-\w ]*>)"?`)

	// What pages say.
	endpoint  = lazy(`\b(` + methods + `)\b[\s:]+\**((?:https?://|/|\{\{?[A-Za-z_]+\}?\}/)[^\s"'<>]*(?:<[-\w]+>[^\s"'<>]*)*)`)
	bounds    = lazy("[`*,;.)]+$")
	baseURL   = lazy(`(?i)(?:base\s*(?:url|uri|path)|root\s*(?:url|endpoint)|api\s*(?:url|endpoint|root)|server|host|hosted at|requests? (?:are|is) (?:made|sent) to)(?:\W|is|are|at){0,12}(https?://[^\s"'<>)]+)`)
	listParam = lazy("^(?:[-*+]|\\d+\\.)\\s+(?:`([-\\w.\\[\\]]+)`|\\*\\*([-\\w.]+)\\*\\*|([-\\w.]+)(?:\\s*\\())[^\\w(]*(?:\\(?([^):–—]*)\\)?)?\\s*[-:–—]?\\s*(.*)$")

	verb = lazy(`^(` + methods + `)$`)

	sensitive = lazy(`(?i)^(x-)?(api[-_]?key|apikey|access[-_]?key|access[-_]?token|auth[-_]?token|id[-_]?token|refresh[-_]?token|session([-_]?id)?|token|secret|client[-_]?secret|password|passwd|signature|sig|csrf[-_]?token|xsrf[-_]?token)$|(?i)[-_](api[-_]?key|token|secret)$`)

	// Ways to write a parameter inside a URL, and values that name one thing among many.
	braced   = lazy(`\{\{?\s*[-A-Za-z_$][-\w.$ ]*\s*\}?\}`) // {id} and {{id}}
	angled   = lazy(`<([-A-Za-z_][-\w. ]*)>`)               // <id>
	shell    = lazy(`\$\{?([A-Za-z_]\w*)\}?`)               // $ID and ${ID}
	colon    = lazy(`^:([A-Za-z_][-\w]*)$`)                 // :id, a segment of its own
	opening  = lazy(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	numeric  = lazy(`^[0-9]+$`)
	uuid     = lazy(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	hash     = lazy(`(?i)^[0-9a-f]{8,}$`)
	prefixed = lazy(`^[A-Za-z]+[-_][A-Za-z0-9_-]{10,}$`)
	long     = lazy(`^[A-Za-z0-9_-]{20,}$`)
	digit    = lazy(`[0-9]`)
	wordlike = lazy(`^[a-z]+([-_.][a-z]+)*$`)
)
