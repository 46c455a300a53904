package limit

// Len counts the keys that the limiter holds now.
func (m *RateLimiter) Len() int {
	n := 0
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.RLock()
		n += len(s.buckets)
		s.mu.RUnlock()
	}
	return n
}
