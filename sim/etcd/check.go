package etcd

// maxTxnOps is etcd's default limit on the number of operations in each branch of a txn, and on the number of its
// conditions.
const maxTxnOps = 128

// check returns an error if an operation is invalid, no matter what the store contains (etcdserver/api/v3rpc/key.go).
// maxOps is the limit for nested txns.
func (o *Op) check(maxOps int) error {
	switch {
	case o.Kind == Nested:
		return o.Txn.checkParts(maxOps)
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

// check returns an error if a txn is invalid. maxOps limits the number of operations in each branch, and the number of
// conditions.
func (t *Txn) check(maxOps int) error {
	if err := t.checkParts(maxOps); err != nil {
		return err
	}
	if putsTwice(t.Then) || putsTwice(t.Else) {
		return errDuplicateKey
	}
	return nil
}

func (t *Txn) checkParts(maxOps int) error {
	count := max(len(t.Conditions), len(t.Then), len(t.Else))
	if count > maxOps {
		return errTooManyOps
	}
	for i := range t.Conditions {
		if t.Conditions[i].Key == "" {
			return errEmptyKey
		}
	}
	for _, branch := range [][]Op{t.Then, t.Else} {
		for i := range branch {
			if err := branch[i].check(maxOps - count); err != nil {
				return err
			}
		}
	}
	return nil
}
