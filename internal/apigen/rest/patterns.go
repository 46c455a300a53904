package rest

import (
	"regexp"
	"sync"
)

const (
	// methodNames are the methods that can be sent.
	methodNames = `GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|QUERY`

	// writtenMethod and writtenMethods match methods as pages write them: alone
	// and in lists.
	writtenMethod  = `(?:` + methodNames + `|DEL)`
	writtenMethods = writtenMethod + `(?:\s*(?:[/,|&+]|\band\b|\bor\b)\s*` + writtenMethod + `\b)*`

	// otherMethods are words in the place of a method that no tool can be made
	// of.
	otherMethods = `ANY|ALL|CONNECT|TRACE|WS|WSS|SSE|PROPFIND|PROPPATCH|MKCOL|COPY|MOVE|LOCK|UNLOCK|PURGE|LINK|UNLINK|SEARCH|REPORT|SUBSCRIBE|UNSUBSCRIBE|NOTIFY|LIST|CREATE|UPDATE|REMOVE|UPSERT|READ|FETCH|BREW`

	// pathText matches a path or URL. Parameters in brackets may contain
	// spaces.
	pathText = `(?:https?://|/|\{\{?\s*[-\w.]+\s*\}?\}/|\$\{?\w+\}?/)(?:[^\s"'<>|` + "`" + `{}]|\{\{?[^{}\n]*\}?\}|<[-\w: ]+>)*`
)

// patternSet holds the regular expressions of this package.
type patternSet struct {
	atxHeading, fence, tableDelimiter, link, image, autolink, inlineTag, emphasis, methodEmphasis, listItem, sourceBlock, asciidocHeading, rstDirective, blueprintHead, resourceHeading, actionHeading, blueprintAction, blueprintOther, blueprintItem, blueprintParam,
	blueprintMedia, fetchCall, httpie, socketCall, pathAccepts, assignment, variableBase, specTag, specData, specCall, specLink, embedded, pageTag, placeholder, endpoint,
	pathFirst, wholeEndpoint, unknownVerb, method, methodsOnly, wildcard, httpVersion, leadingMarks, pathOnly, baseURL, basePath, baseLabel, baseWord,
	methodLabel, pathLabel, pairLabel, listParam, sendableMethod, methodToken, secretName, bracedParam, angledParam, typedParam, namedGroup, shellParam, colonParam, innerColonParam, capitalsParam,
	urlScheme, numeric, uuid, hexHash, prefixedID, longToken, anyDigit, plainWord *regexp.Regexp
}

// patterns returns the regular expressions. They are compiled when the first
// document is read: most processes read none, and together they take half a
// megabyte.
var patterns = sync.OnceValue(func() *patternSet { //nolint:gochecknoglobals // it never changes
	return &patternSet{
		// Markdown. A heading after "#".
		atxHeading: regexp.MustCompile(`^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$`),
		// The fence of a code block, and its language.
		fence: regexp.MustCompile("^\\s*(```+|~~~+)\\s*([\\w+-]*)"),
		// The line of dashes below the head of a table.
		tableDelimiter: regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`),
		// A link, an image and an address in angle brackets, each with its
		// text.
		link:     regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`),
		image:    regexp.MustCompile(`!\[([^\]]*)\]\([^)]*\)`),
		autolink: regexp.MustCompile(`<(https?://[^\s<>]+)>`),
		// HTML tags that Markdown pages contain.
		inlineTag: regexp.MustCompile(`(?i)<(/?)(a|b|strong|em|i|u|span|code|kbd|samp|tt|var|mark|small|sub|sup|font|p|div|br|img|h[1-6]|details|summary|ul|ol|li|pre|center|table|tbody|thead|tr|td|th|section|dl|dt|dd)(?:\s[^<>]*)?/?>`),
		// Text in single asterisks.
		emphasis: regexp.MustCompile(`(^|[\s(])\*([^*\s][^*]*)\*($|[\s).,;:])`),
		// A method between underscores. Other text between them may be a name.
		methodEmphasis: regexp.MustCompile(`(^|[\s(])_(` + writtenMethods + `)_($|[\s).,;:])`),
		// The mark of a list item.
		listItem: regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s+`),

		// AsciiDoc and reStructuredText. The line before a code block of
		// AsciiDoc.
		sourceBlock: regexp.MustCompile(`^\[(?:source|listing|literal)\b`),
		// A heading after "=".
		asciidocHeading: regexp.MustCompile(`^(={1,6})\s+(\S.*?)\s*=*$`),
		// The directive of Sphinx that documents an endpoint.
		rstDirective: regexp.MustCompile(`^\.\.\s+http:(get|post|put|patch|delete|head|options)::\s+(\S+)`),

		// API Blueprint. A heading with an optional [METHOD /path].
		blueprintHead: regexp.MustCompile(`^(#{1,6})\s*(.*?)\s*(?:\[\s*(?:(` + methodNames + `)\s*)?(/[^\]]*)?\s*\])?\s*$`),
		// A heading that ends with a path in brackets, and one that ends with methods
		// in brackets, on pages without FORMAT:.
		resourceHeading: regexp.MustCompile(`^(.*?)\s*\[\s*(/[^\]\s]*)\s*\]\s*$`),
		actionHeading:   regexp.MustCompile(`^(.*?)\s*\[\s*(` + writtenMethods + `)\s*\]\s*$`),
		// A heading that is a method and an optional path, without brackets.
		blueprintAction: regexp.MustCompile(`(?i)^(` + methodNames + `|DEL)(?:\s+(/\S*))?$`),
		// A heading with an unknown method in brackets.
		blueprintOther: regexp.MustCompile(`\[\s*([A-Z]+)(?:\s+/[^\]]*)?\s*\]\s*$`),
		// A list item with its indentation.
		blueprintItem: regexp.MustCompile(`^(\s*)[+*-]\s+(.*)$`),
		// A parameter: name, example, (type, required) and description.
		blueprintParam: regexp.MustCompile("^`?([\\w.%-]+)`?(?:\\s*[:=]\\s*`?([^`(]*?)`?)?\\s*(?:\\(([^)]*)\\))?\\s*(?:-\\s*(.*))?$"),
		// A media type in parentheses.
		blueprintMedia: regexp.MustCompile(`\(([-\w.+/]+)[^)]*\)`),

		// Calls in the code of a program: fetch with a method, HTTPie, the assignment
		// of a shell variable, and a path below a base that is a variable.
		fetchCall:  regexp.MustCompile(`["'\x60](` + pathText + `)["'\x60].*\bmethod["']?\s*[:=]\s*["'](` + writtenMethod + `)["']`),
		httpie:     regexp.MustCompile(`\bhttps?\s+(` + writtenMethod + `)\s+((?:[A-Za-z0-9-]+\.)*[A-Za-z0-9-]+(?::\d+)?/[^\s"'\x60]*)`),
		socketCall: regexp.MustCompile(`\b(` + writtenMethod + `)\s+["'\x60(<\[]*(wss?://[^\s"'<>\x60)\]]+)`),
		// A path and then, within its sentence, what it accepts: "`/users` supports GET".
		pathAccepts:  regexp.MustCompile(`(?:^|[\s("'\x60])(/` + `[^\s"'<>|\x60]+)["'\x60)]*\s+(?:[\w-]+\s+){0,3}(?:with|via|by|using|accepts?|supports?|takes?|allows?|is|are)\s+(?:an?\s+|the\s+)?(?:HTTP\s+)?[\x60]*(` + writtenMethods + `)\b`),
		assignment:   regexp.MustCompile(`^[A-Za-z_]\w*=`),
		variableBase: regexp.MustCompile(`^(?:\$\{?\w+\}?|\{\{?\s*[-\w.]+\s*\}?\})/`),

		// Pages that display a document name it in one of these ways: in the
		// tag of a viewer, in the data of a script, in a call of JavaScript, or
		// in a link.
		specTag:  regexp.MustCompile(`(?is)<(?:redoc|rapi-doc|elements-api|rapi-pdf)\b[^>]*?\b(?:spec-url|apiDescriptionUrl)\s*=\s*["']([^"']+)["']`),
		specData: regexp.MustCompile(`(?is)<script\b[^>]*?\bid\s*=\s*["']api-reference["'][^>]*?\bdata-url\s*=\s*["']([^"']+)["']`),
		specCall: regexp.MustCompile(`(?is)(?:SwaggerUIBundle|SwaggerUi|Redoc\.init|RedocStandalone|createApiReference)\s*\(.{0,400}?(?:\burl["']?\s*:\s*)?["']([^"'\s]+\.(?:json|ya?ml)[^"'\s]*|[^"'\s]*(?:openapi|swagger|api-docs)[^"'\s]*)["']`),
		specLink: regexp.MustCompile(`(?is)<link\b[^>]*?\brel\s*=\s*["'](?:service-desc|describedby)["'][^>]*?\bhref\s*=\s*["']([^"']+)["']`),
		// The content of a script.
		embedded: regexp.MustCompile(`(?is)<script\b[^>]*>(.*?)</script>`),
		// The beginning of an HTML page.
		pageTag: regexp.MustCompile(`(?is)^\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|div|h[1-6]|p|table|section|article|main)\b`),

		// A placeholder for a value inside a body.
		placeholder: regexp.MustCompile(`"?(\{\{[^{}]*\}\}|<[A-Za-z_][-\w ]*>)"?`),

		// Sentences of pages. A method and a path with the words that people
		// write in between.
		endpoint: regexp.MustCompile(`\b(` + writtenMethods + `)\b[\s:,=>→|*_\x60"')\]}–—-]+` +
			`(?:(?:HTTP\s+)?(?:requests?|calls?|methods?)\s+)?(?:(?:to|on|at|against|from)\s+)?(?:the\s+)?(?:(?:endpoint|url|route|path)\s*)?[:=>→|–—\s-]*["'\x60(<\[]*(` + pathText + `)`),
		// A path and then the method, such as "/users (GET)".
		pathFirst: regexp.MustCompile(`^[\s>*+\x60-]*(` + pathText + `)[\s\x60*]*[-–—:]*[\s\x60*]*[(\[]?\s*(` + writtenMethods + `)\b\s*[)\]]?[\s\x60*]*(?:[-–—:].*)?$`),
		// A text that is an endpoint and nothing else.
		wholeEndpoint: regexp.MustCompile(`(?i)^(` + writtenMethods + `)[\s:\x60]+((?:https?://|/)[^\s\x60]*|[\w.~-]+/[^\s\x60]*|[\w.~-]+(?:\s+HTTP/[0-9.]+))(?:\s*[\x60(–—:-]+(.*)|\s+HTTP/.*)?$`),
		// An endpoint with a method that cannot be sent.
		unknownVerb: regexp.MustCompile(`^[\s>*+#|\x60\[-]*(?:\d+[.)]\s+)?\b(` + otherMethods + `)\b[\s:\x60*|\]-]+["'\x60]*(?:https?://|/)[\w{:<]`),
		method:      regexp.MustCompile(`\b` + writtenMethod + `\b`),
		// A text that consists of methods.
		methodsOnly: regexp.MustCompile(`(?i)^` + writtenMethod + `(?:(?:[\s/,|&+\x60]|\band\b|\bor\b)+` + writtenMethod + `)*$`),
		// A path that stands for many, such as /users/*.
		wildcard:    regexp.MustCompile(`/\*|\*$|/\.\.\.|/…`),
		httpVersion: regexp.MustCompile(`^\s*HTTP/[0-9.]+`),
		// Text before an endpoint that is no words: list marks, quotes,
		// prompts.
		leadingMarks: regexp.MustCompile(`^(?:[\s>*+#|$\x60"'(\[{_-]|//|\d+[.)]\s|\[[ xX]\]|https?\s)*$`),
		// A text that is a path and nothing else.
		pathOnly: regexp.MustCompile(`^[\x60\s]*(` + pathText + `)[\x60\s]*$`),
		// A phrase that introduces the base URL, and the URL.
		baseURL: regexp.MustCompile(`(?i)\b(?:(?:base|root)[\s_-]*(?:url|uri|path|endpoint|address|host)?|(?:service|api)[\s_-]*(?:url|uri|base|endpoint|address|root|host|server)|server(?:\s+url)?|host(?:name)?|hosted\s+(?:at|on|under)|` +
			`(?:runs?|running|available|listens?|listening|served|answers?|reachable|lives?)\s+(?:at|on|from|under|below)|(?:(?:begin|start)s?\s+with|relative\s+to)|requests?\s+(?:are|is|go|should\s+be|must\s+be)?\s*(?:made|sent)?\s*to)\b(?:\W|\b(?:is|are|at|url|of|the|api)\b){0,14}?(https?://[^\s"'<>)\x60|]+)`),
		// A phrase that introduces the path before all endpoints, and the path.
		basePath: regexp.MustCompile(`(?i)\b(?:base[\s_-]*(?:url|uri|path|endpoint)|path\s+prefix|(?:url|route|common)\s+prefix|prefixed\s+(?:with|by)|(?:endpoints|paths|routes|urls|calls)\s+(?:are\s+|live\s+)?(?:relative\s+to|under|below|(?:begin|start)\s+with))\b(?:\W|\b(?:is|are|at|the)\b){0,8}?(/[\w./-]+)`),
		// A text that is only a label, whose value follows.
		baseLabel: regexp.MustCompile(`(?i)^\W*(?:base|root|api|service)\s*(?:url|uri|path|endpoint|address|host)s?\W*$`),
		// A label that makes the following path a base and no endpoint.
		baseWord: regexp.MustCompile(`(?i)\b(?:base|root|server|service|host)[\s_-]*(?:url|uri|endpoint|path|address)?[\s\x60]*[:=|]`),
		// "Method: GET", "Endpoint: /users", and either label alone.
		methodLabel: regexp.MustCompile(`(?i)\b(?:methods?|verb)\b[\s\x60]*[:=|][\s\x60"]*(` + writtenMethods + `)\b`),
		pathLabel:   regexp.MustCompile(`(?i)\b(?:endpoint|url|uri|path|route|resource)\b[\s\x60]*[:=|][\s\x60"<]*((?:https?://|/)[^\s\x60"',]*)`),
		pairLabel:   regexp.MustCompile(`(?i)^\W*((?:(?:http|request)\s+)?(?:method|verb)|(?:(?:api|request|resource)\s+)?(?:endpoint|url|uri|path|route))\W*$`),
		// A list item that describes a parameter: name, (type) and description.
		listParam: regexp.MustCompile("^(?:[-*+]|\\d+\\.)\\s+(?:`([-\\w.\\[\\]]+)`|\\*\\*([-\\w.]+)\\*\\*|([-\\w.]+)(?:\\s*\\())[^\\w(]*(?:\\(?([^):–—]*)\\)?)?\\s*[-:–—]?\\s*(.*)$"),

		// A method that can be sent, and a word that has the form of a method.
		sendableMethod: regexp.MustCompile(`^(` + methodNames + `)$`),
		methodToken:    regexp.MustCompile(`^[A-Za-z][A-Za-z-]*$`),

		// Names of headers and parameters that carry a secret.
		secretName: regexp.MustCompile(`(?i)^(x-)?(api[-_]?key|apikey|access[-_]?key|access[-_]?token|auth[-_]?token|id[-_]?token|refresh[-_]?token|session([-_]?id)?|token|secret|client[-_]?secret|password|passwd|signature|sig|csrf[-_]?token|xsrf[-_]?token)$|(?i)[-_](api[-_]?key|token|secret)$`),

		// Notations of a parameter inside a URL: {id}, {{id}} and ${id}.
		bracedParam: regexp.MustCompile(`\$?\{\{?\s*[-A-Za-z_$][-\w.$ ]*\s*\}?\}`),
		// <id>
		angledParam: regexp.MustCompile(`<([-A-Za-z_][-\w. ]*)>`),
		// (int:id), <int:id>, {id:int} and [id], a segment of its own.
		typedParam: regexp.MustCompile(`^(?:\((?:[a-z]+:)?([A-Za-z_]\w*)\)|<[a-z]+:([A-Za-z_]\w*)>|\{\+?([A-Za-z_][-\w]*)(?:\*|:[^{}]*)\}|\[\.{0,3}([A-Za-z_]\w*)\])$`),
		// YOUR_USER_ID and USER_ID.
		capitalsParam: regexp.MustCompile(`^(?:(?:YOUR|MY|your|my)[-_]([A-Za-z][-\w]*)|((?:[A-Z]+_)*(?:ID|UUID|SLUG|NAME)))$`),
		// $ID and ${ID}.
		shellParam: regexp.MustCompile(`\$\{?([A-Za-z_]\w*)\}?`),
		// :id, a segment of its own.
		colonParam: regexp.MustCompile(`^:([A-Za-z_][-\w]*)$`),
		// :id behind a sign within a segment, as in :from-:to and :id.json. A word behind
		// a parameter, as in {id}:cancel, is none.
		innerColonParam: regexp.MustCompile(`(^|[-.~,])(:[A-Za-z_]\w*)`),
		// A named group of a regular expression, as routes of Django have.
		namedGroup: regexp.MustCompile(`\(\?P?<(\w+)>[^()]*\)`),
		// The scheme of a URL.
		urlScheme: regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`),
		// Forms of ids: a number, a UUID, a hash, an id with a prefix such as
		// cus_…, and a long token. An id contains a digit and is no plain word.
		numeric:    regexp.MustCompile(`^[0-9]+$`),
		uuid:       regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`),
		hexHash:    regexp.MustCompile(`(?i)^[0-9a-f]{8,}$`),
		prefixedID: regexp.MustCompile(`^[A-Za-z]+[-_][A-Za-z0-9_-]{10,}$`),
		longToken:  regexp.MustCompile(`^[A-Za-z0-9_-]{20,}$`),
		anyDigit:   regexp.MustCompile(`[0-9]`),
		plainWord:  regexp.MustCompile(`^[a-z]+([-_.][a-z]+)*$`),
	}
})
