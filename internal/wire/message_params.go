package wire

// scanParams scans the params object and fills the fields of m that belong to it.
func (m *Message) scanParams(s *scanner) {
	o := s.beginObject(1)
	for s.nextMember(&o) {
		var buf [64]byte
		key := s.b[o.key.from:o.key.to]
		if o.key.escaped {
			key = unescapeKey(buf[:0], key)
		}
		start := s.i
		if string(key) == "_meta" && start < len(s.b) && s.b[start] == '{' {
			m.scanMeta(s)
			m.Meta = s.b[start:s.i]
			continue
		}
		s.scanValue(2)
		if s.err != nil {
			return
		}
		raw := s.b[start:s.i]
		switch string(key) {
		case "name":
			m.HasName = m.setText(&m.Name, raw, "params.name")
		case "uri":
			m.HasURI = m.setText(&m.URI, raw, "params.uri")
		case "taskId":
			m.HasTaskID = m.setText(&m.TaskID, raw, "params.taskId")
		case "task":
			m.setObject(&m.Task, raw, "params.task")
		case "arguments":
			m.setObject(&m.Arguments, raw, "params.arguments")
		case "version":
			m.setText(&m.Version, raw, "params.version")
		case "cursor":
			m.HasCursor = m.setText(&m.Cursor, raw, "params.cursor")
		case "level":
			m.setText(&m.Level, raw, "params.level")
		case "ref":
			m.setObject(&m.Ref, raw, "params.ref")
		case "argument":
			m.setObject(&m.Argument, raw, "params.argument")
		case "context":
			m.setObject(&m.Context, raw, "params.context")
		case "inputResponses":
			m.setObject(&m.InputResponses, raw, "params.inputResponses")
		case "requestState":
			m.HasRequestState = m.setText(&m.RequestState, raw, "params.requestState")
		case "requestId":
			m.setToken(&m.RequestID, raw, "params.requestId")
		case "reason":
			m.setText(&m.Reason, raw, "params.reason")
		case "notifications":
			m.setObject(&m.Notifications, raw, "params.notifications")
		case "progressToken":
			m.setToken(&m.NotifiedProgressToken, raw, "params.progressToken")
		case "protocolVersion":
			m.setText(&m.ProtocolVersion, raw, "params.protocolVersion")
		case "capabilities":
			m.setObject(&m.Capabilities, raw, "params.capabilities")
		case "clientInfo":
			m.setObject(&m.ClientInfo, raw, "params.clientInfo")
		case "_meta":
			m.setObject(&m.Meta, raw, "params._meta")
		default:
			m.noteCaseVariant("params.", key, "name", "uri", "taskId", "task", "arguments", "_meta", "version", "ref", "inputResponses", "requestState", "requestId")
		}
	}
}

// scanMeta scans the _meta object and fills the fields of m that belong to it.
func (m *Message) scanMeta(s *scanner) {
	o := s.beginObject(2)
	for s.nextMember(&o) {
		var buf [64]byte
		key := s.b[o.key.from:o.key.to]
		if o.key.escaped {
			key = unescapeKey(buf[:0], key)
		}
		start := s.i
		s.scanValue(3)
		if s.err != nil {
			return
		}
		raw := s.b[start:s.i]
		switch string(key) {
		case MetaProtocolVersion:
			m.HasMetaVersion = m.setText(&m.MetaVersion, raw, "params._meta."+MetaProtocolVersion)
		case MetaClientCapabilities:
			m.HasMetaCapabilities = m.setObject(&m.MetaCapabilities, raw, "params._meta."+MetaClientCapabilities)
		case MetaClientInfo:
			m.setObject(&m.MetaClientInfo, raw, "params._meta."+MetaClientInfo)
		case MetaLogLevel:
			m.setText(&m.MetaLogLevel, raw, "params._meta."+MetaLogLevel)
		case MetaProgressToken:
			m.setToken(&m.ProgressToken, raw, "params._meta."+MetaProgressToken)
		case MetaSubscriptionID:
			m.setToken(&m.SubscriptionID, raw, "params._meta."+MetaSubscriptionID)
		case MetaJunctorVersion:
			m.setText(&m.ToolVersion, raw, "params._meta."+MetaJunctorVersion)
		default:
			m.noteCaseVariant("params._meta.", key, MetaProtocolVersion, MetaClientCapabilities, MetaLogLevel, MetaProgressToken, MetaJunctorVersion)
		}
	}
}

// noteWrong notes that a member has the wrong type, and returns false. null counts as
// absent, because many clients write empty fields that way.
func (m *Message) noteWrong(name string, raw []byte) bool {
	if m.InvalidMember == "" && !IsNull(raw) {
		m.InvalidMember = name
	}
	return false
}

// setText sets a field from a string and reports whether raw is one.
func (m *Message) setText(to *string, raw []byte, name string) bool {
	if raw[0] != '"' {
		return m.noteWrong(name, raw)
	}
	*to = internString(raw)
	return true
}

// setObject sets a field from an object and reports whether raw is one.
func (m *Message) setObject(to *[]byte, raw []byte, name string) bool {
	if raw[0] != '{' {
		return m.noteWrong(name, raw)
	}
	*to = raw
	return true
}

// setToken sets a field from a string or an integer.
func (m *Message) setToken(to *[]byte, raw []byte, name string) {
	if !isID(raw) {
		m.noteWrong(name, raw)
		return
	}
	*to = raw
}

// noteCaseVariant notes a member that differs from one of names only by case. It does so
// even if the member is null.
func (m *Message) noteCaseVariant(prefix string, key []byte, names ...string) {
	if m.InvalidMember == "" && findCaseVariant(key, names...) != "" {
		m.InvalidMember = prefix + string(key)
	}
}
