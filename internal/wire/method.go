package wire

// Methods of both eras.
const (
	MethodInitialize             = "initialize" // legacy
	MethodPing                   = "ping"       // legacy
	MethodToolsList              = "tools/list"
	MethodToolsCall              = "tools/call"
	MethodResourcesList          = "resources/list"
	MethodResourcesTemplatesList = "resources/templates/list"
	MethodResourcesRead          = "resources/read"
	MethodResourcesSubscribe     = "resources/subscribe"   // legacy
	MethodResourcesUnsubscribe   = "resources/unsubscribe" // legacy
	MethodPromptsList            = "prompts/list"
	MethodPromptsGet             = "prompts/get"
	MethodCompletionComplete     = "completion/complete"
	MethodLoggingSetLevel        = "logging/setLevel"     // legacy
	MethodServerDiscover         = "server/discover"      // modern
	MethodSubscriptionsListen    = "subscriptions/listen" // modern

	// Requests of servers to clients: sent as requests in the legacy era, and inside
	// an input_required result in the modern one.
	MethodElicitationCreate     = "elicitation/create"
	MethodSamplingCreateMessage = "sampling/createMessage"
	MethodRootsList             = "roots/list"

	// Methods of tasks, of 2025-11-25 and of the modern extension.
	MethodTasksGet    = "tasks/get"
	MethodTasksResult = "tasks/result" // legacy
	MethodTasksList   = "tasks/list"   // legacy
	MethodTasksUpdate = "tasks/update" // modern
	MethodTasksCancel = "tasks/cancel"
)

// Notifications of both eras.
const (
	NotificationInitialized               = "notifications/initialized" // legacy
	NotificationCancelled                 = "notifications/cancelled"
	NotificationProgress                  = "notifications/progress"
	NotificationMessage                   = "notifications/message"
	NotificationToolsListChanged          = "notifications/tools/list_changed"
	NotificationPromptsListChanged        = "notifications/prompts/list_changed"
	NotificationResourcesListChanged      = "notifications/resources/list_changed"
	NotificationResourceUpdated           = "notifications/resources/updated"
	NotificationRootsListChanged          = "notifications/roots/list_changed"         // legacy
	NotificationElicitationComplete       = "notifications/elicitation/complete"       // legacy
	NotificationSubscriptionsAcknowledged = "notifications/subscriptions/acknowledged" // modern
	NotificationTasksStatus               = "notifications/tasks/status"               // legacy
	NotificationTasks                     = "notifications/tasks"                      // modern
)

// Keys of _meta. Those that begin with MetaPrefix are valid for one hop: each side
// writes its own and forwards none.
const (
	MetaPrefix             = "io.modelcontextprotocol/"
	MetaProtocolVersion    = MetaPrefix + "protocolVersion"
	MetaClientCapabilities = MetaPrefix + "clientCapabilities"
	MetaClientInfo         = MetaPrefix + "clientInfo"
	MetaServerInfo         = MetaPrefix + "serverInfo"
	MetaLogLevel           = MetaPrefix + "logLevel"
	MetaSubscriptionID     = MetaPrefix + "subscriptionId"
	MetaRelatedTask        = MetaPrefix + "related-task"             // legacy
	MetaImmediateResponse  = MetaPrefix + "model-immediate-response" // legacy: for the model, so it is forwarded
	MetaProgressToken      = "progressToken"
	MetaJunctorVersion     = "junctor/version"   // requested version of a tool
	MetaJunctorAwaited     = "junctor/awaited"   // in a list: servers that have not answered yet, so that their items are missing
	MetaJunctorRoles       = "junctor/roles"     // in a tool's definition: the roles that it is for
	MetaJunctorTool        = "junctor/tool"      // in the result of call_tool: the tool that was called, whose App page applies
	MetaJunctorNextPage    = "junctor/next-page" // in a tool's result: the changes of the arguments that give its next page
	MetaJunctorRedacted    = "junctor/redacted"  // in a result: how many of its texts rules have redacted
	MetaJunctorCut         = "junctor/cut"       // in a result: how many of its texts rules have shortened

	// W3C trace context, which is forwarded.
	MetaTraceparent = "traceparent"
	MetaTracestate  = "tracestate"
	MetaBaggage     = "baggage"
)

// Values of resultType, a member of every modern result.
const (
	ResultComplete      = "complete"
	ResultInputRequired = "input_required"
	ResultTask          = "task"
)

// ExtensionTasks names the modern tasks extension in capabilities.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// ExtensionUI names MCP Apps in capabilities, and MediaTypeApp is the media type of
// their pages.
const (
	ExtensionUI  = "io.modelcontextprotocol/ui"
	MediaTypeApp = "text/html;profile=mcp-app"
)

// States of a task. The last three are final.
const (
	TaskWorking       = "working"
	TaskInputRequired = "input_required"
	TaskCompleted     = "completed"
	TaskFailed        = "failed"
	TaskCancelled     = "cancelled"
)

// internWord returns b as a string. It does not allocate for the words that nearly every
// message has: methods, notifications, versions and log levels.
func internWord(b []byte) string {
	switch string(b) {
	case "":
		return ""
	case MethodInitialize:
		return MethodInitialize
	case MethodPing:
		return MethodPing
	case MethodToolsList:
		return MethodToolsList
	case MethodToolsCall:
		return MethodToolsCall
	case MethodResourcesList:
		return MethodResourcesList
	case MethodResourcesTemplatesList:
		return MethodResourcesTemplatesList
	case MethodResourcesRead:
		return MethodResourcesRead
	case MethodResourcesSubscribe:
		return MethodResourcesSubscribe
	case MethodResourcesUnsubscribe:
		return MethodResourcesUnsubscribe
	case MethodPromptsList:
		return MethodPromptsList
	case MethodPromptsGet:
		return MethodPromptsGet
	case MethodCompletionComplete:
		return MethodCompletionComplete
	case MethodLoggingSetLevel:
		return MethodLoggingSetLevel
	case MethodServerDiscover:
		return MethodServerDiscover
	case MethodSubscriptionsListen:
		return MethodSubscriptionsListen
	case MethodElicitationCreate:
		return MethodElicitationCreate
	case MethodSamplingCreateMessage:
		return MethodSamplingCreateMessage
	case MethodRootsList:
		return MethodRootsList
	case MethodTasksGet:
		return MethodTasksGet
	case MethodTasksResult:
		return MethodTasksResult
	case MethodTasksList:
		return MethodTasksList
	case MethodTasksUpdate:
		return MethodTasksUpdate
	case MethodTasksCancel:
		return MethodTasksCancel
	case NotificationInitialized:
		return NotificationInitialized
	case NotificationCancelled:
		return NotificationCancelled
	case NotificationProgress:
		return NotificationProgress
	case NotificationMessage:
		return NotificationMessage
	case NotificationToolsListChanged:
		return NotificationToolsListChanged
	case NotificationPromptsListChanged:
		return NotificationPromptsListChanged
	case NotificationResourcesListChanged:
		return NotificationResourcesListChanged
	case NotificationResourceUpdated:
		return NotificationResourceUpdated
	case NotificationRootsListChanged:
		return NotificationRootsListChanged
	case NotificationElicitationComplete:
		return NotificationElicitationComplete
	case NotificationSubscriptionsAcknowledged:
		return NotificationSubscriptionsAcknowledged
	case NotificationTasksStatus:
		return NotificationTasksStatus
	case NotificationTasks:
		return NotificationTasks
	case V20241105:
		return V20241105
	case V20250326:
		return V20250326
	case V20250618:
		return V20250618
	case V20251125:
		return V20251125
	case V20260728:
		return V20260728
	case LevelDebug:
		return LevelDebug
	case LevelInfo:
		return LevelInfo
	case LevelNotice:
		return LevelNotice
	case LevelWarning:
		return LevelWarning
	case LevelError:
		return LevelError
	case LevelCritical:
		return LevelCritical
	case LevelAlert:
		return LevelAlert
	case LevelEmergency:
		return LevelEmergency
	}
	return string(b)
}
