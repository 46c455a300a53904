package queue

// CountJobs and CountLanes are the statements that count jobs, for tests that ask a
// database how it runs them.
func (q *Queue) CountJobs() string { return q.countJobsQuery() }

// CountLanes is the statement of Lanes.
func (q *Queue) CountLanes() string { return q.countLanesQuery() }
