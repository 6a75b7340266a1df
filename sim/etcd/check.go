package etcd

// maxTxnOps is etcd's default for the maximum number of operations in each part of a txn.
const maxTxnOps = 128

// check returns an error if an operation is invalid, no matter what the store contains (etcdserver/api/v3rpc/key.go).
func (o *Op) check(most int) error {
	switch {
	case o.Kind == Nested:
		return o.Txn.checkParts(most)
	case o.Kind == 0:
		return errKeyNotFound // this is also etcd's error for an operation without a kind
	case o.Key == "":
		return errEmptyKey
	case o.KeepValue && o.Value != "":
		return errValueProvided
	case o.KeepLease && o.Lease != 0:
		return errLeaseProvided
	}
	return nil
}

// check returns an error if a txn is invalid. most is the maximum number of operations in each part.
func (t *Txn) check(most int) error {
	if err := t.checkParts(most); err != nil {
		return err
	}
	if putsTwice(t.Then) || putsTwice(t.Else) {
		return errDuplicateKey
	}
	return nil
}

func (t *Txn) checkParts(most int) error {
	count := max(len(t.Conditions), len(t.Then), len(t.Else))
	if count > most {
		return errTooManyOps
	}
	for i := range t.Conditions {
		if t.Conditions[i].Key == "" {
			return errEmptyKey
		}
	}
	for _, branch := range [][]Op{t.Then, t.Else} {
		for i := range branch {
			if err := branch[i].check(most - count); err != nil {
				return err
			}
		}
	}
	return nil
}
