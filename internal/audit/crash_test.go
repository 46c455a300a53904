package audit

const childDir = "JUNCTOR_TEST_JOURNAL"

func child() {}
