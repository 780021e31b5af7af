package identity

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// VerifiedLog is what a valid log proves. It proves nothing about newer entries that somebody may have kept back: remember VersionID.
type VerifiedLog struct {
	DID         string
	Versions    int
	VersionID   string
	Updated     time.Time
	Deactivated bool
	Document    map[string]any
}

// LogInvalid says which line of a log is wrong, counted from 1.
type LogInvalid struct {
	Line   int
	Reason string
}

func (e *LogInvalid) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

type object = map[string]any

// state is what the entries so far say.
type state struct {
	did, versionID            string
	number                    int
	time                      time.Time
	updateKeys, nextKeyHashes []string
	deactivated               bool
	document                  object
}

const (
	entryTime        = "2006-01-02T15:04:05.000000Z"
	mostEntryOctets  = 16 << 10
	hashPattern      = `Qm[1-9A-HJ-NP-Za-km-z]{44}`
	wrongSignature   = "the signature of the proof is wrong"
	mostKeys         = 10
	proofCryptosuite = "eddsa-jcs-2022"
	proofType        = "DataIntegrityProof"
	proofPurpose     = "assertionMethod"
	scidPlaceholder  = "{SCID}"
)

var (
	hashText      = regexp.MustCompile(`^` + hashPattern + `$`)
	versionIDText = regexp.MustCompile(`^([1-9][0-9]{0,9})-(` + hashPattern + `)$`)
	methodText    = regexp.MustCompile(`^(did:[a-z0-9]+):1\.0$`)
)

// VerifyLog checks the text of GetDidLog: identity, order, integrity, and that each entry is by a key that may sign it. did is whose log
// it must be, any where it is empty; entries after now are refused, where that is not zero. It returns a *LogInvalid.
//
// What `identity did log verify` checks beyond it: that each change makes this document of the one before, and the controllers'
// signatures.
func VerifyLog(log, did string, now time.Time) (*VerifiedLog, error) {
	var current *state
	for place, line := range strings.Split(strings.TrimSuffix(log, "\n"), "\n") {
		following, err := next(current, line)
		if err == nil && did != "" && following.did != did {
			err = fmt.Errorf("the log is one of %s", following.did)
		}
		if err == nil && !now.IsZero() && following.time.After(now) {
			err = errors.New("the entry is of the future")
		}
		if err != nil {
			return nil, &LogInvalid{place + 1, err.Error()}
		}
		current = following
	}
	return &VerifiedLog{
		current.did, current.number, current.versionID, current.time, current.deactivated, current.document,
	}, nil
}

func next(before *state, line string) (*state, error) {
	if len(line) > mostEntryOctets {
		return nil, errors.New("the entry is too large")
	}
	read, err := parseJSON([]byte(line))
	if err != nil {
		return nil, err
	}
	entry, is := read.(object)
	// Whatever could be read in two ways, two members of one name or a number that does not fit, is written differently.
	if canonical, err := Canonicalize(read); err != nil || !is || string(canonical) != line {
		return nil, errors.New("the entry is no object in canonical form")
	}
	parameters, isParameters := entry["parameters"].(object)
	document, isDocument := entry["state"].(object)
	proofs, isProofs := entry["proof"].([]any)
	versionID, _ := entry["versionId"].(string)
	versionTime, _ := entry["versionTime"].(string)
	named := versionIDText.FindStringSubmatch(versionID)
	if len(entry) != 5 || !isParameters || !isDocument || !isProofs || named == nil {
		return nil, errors.New("the entry does not have exactly the members of an entry")
	}
	at, err := time.Parse(entryTime, versionTime)
	if err != nil || at.Format(entryTime) != versionTime {
		return nil, errors.New("the versionTime is not a time")
	}
	number, _ := strconv.Atoi(named[1])
	after := &state{versionID: versionID, number: number, time: at, document: document}
	delete(entry, "proof")
	predecessor, expected := "", 1
	if before == nil {
		if after.did, err = born(entry, parameters, document); err != nil {
			return nil, err
		}
		predecessor = after.did[strings.LastIndex(after.did, ":")+1:]
	} else {
		after.did, predecessor, expected = before.did, before.versionID, before.number+1
		if !at.After(before.time) || before.deactivated {
			return nil, errors.New("the entry is not later than the one before, or comes after the end")
		}
	}
	if number != expected || document["id"] != after.did {
		return nil, errors.New("the entry does not have the next number, or is one of another DID")
	}
	if hash, err := bodyHash(entry, predecessor); err != nil || hash != named[2] {
		return nil, errors.New("the hash does not fit the entry")
	}
	if err := after.readKeys(before, parameters); err != nil {
		return nil, err
	}
	signers := after.updateKeys
	if before != nil && len(before.nextKeyHashes) == 0 {
		signers = before.updateKeys
	}
	after.deactivated = parameters["deactivated"] == true
	return after, checkProof(proofs, entry, versionTime, signers)
}

func bodyHash(body object, predecessor string) (string, error) {
	octets, err := placed(body, predecessor)
	return multihash(octets), err
}

// placed is the canonical form of an entry without proof, with another versionId.
func placed(body object, versionID string) ([]byte, error) {
	copied := object{}
	for name, value := range body {
		copied[name] = value
	}
	copied["versionId"] = versionID
	return Canonicalize(copied)
}

// born gives the DID, which is the hash of its first entry with a placeholder wherever the identifier stands.
func born(body, parameters, document object) (string, error) {
	method, _ := parameters["method"].(string)
	scid, _ := parameters["scid"].(string)
	prefix := methodText.FindStringSubmatch(method)
	if prefix == nil || prefix[1] == "did:webvh" {
		return "", errors.New("the log is of an unknown method")
	}
	did := prefix[1] + ":" + scid
	if !hashText.MatchString(scid) || document["id"] != did {
		return "", errors.New("the first entry does not name its own DID")
	}
	octets, err := placed(body, scid)
	if err != nil || multihash(bytes.ReplaceAll(octets, []byte(scid), []byte(scidPlaceholder))) != scid {
		return "", errors.New("the identifier does not follow from the first entry")
	}
	return did, nil
}

// readKeys finds which keys may sign (did:webvh 1.0, "Authorized Keys" and "Pre-Rotation Key Hash Generation and Verification").
func (s *state) readKeys(before *state, parameters object) error {
	_, saysKeys := parameters["updateKeys"]
	hashes, saysHashes := parameters["nextKeyHashes"]
	_, ends := parameters["deactivated"]
	rotates := before != nil && len(before.nextKeyHashes) > 0
	if before != nil && !rotates && ((!saysKeys && !saysHashes) || ends) {
		s.updateKeys, s.nextKeyHashes = before.updateKeys, before.nextKeyHashes
		return nil
	}
	var keysAreTexts, hashesAreTexts bool
	s.updateKeys, keysAreTexts = texts(parameters["updateKeys"])
	s.nextKeyHashes, hashesAreTexts = texts(hashes)
	if !keysAreTexts || len(s.updateKeys) == 0 || (saysHashes && !hashesAreTexts) || (rotates && !saysHashes) {
		return errors.New("the entry does not say updateKeys and nextKeyHashes as lists of texts")
	}
	for _, key := range s.updateKeys {
		if rotates && !contains(before.nextKeyHashes, multihash([]byte(key))) {
			return errors.New("the entry before did not commit to a key of updateKeys")
		}
	}
	return nil
}

// checkProof checks eddsa-jcs-2022 (VC Data Integrity EdDSA 1.0 §3.3) by a did:key.
func checkProof(proofs []any, body object, created string, signers []string) error {
	if len(proofs) != 1 {
		return errors.New("the entry has not one proof")
	}
	proof, _ := proofs[0].(object)
	value, _ := proof["proofValue"].(string)
	delete(proof, "proofValue")
	if proof["type"] != proofType || proof["cryptosuite"] != proofCryptosuite || proof["proofPurpose"] != proofPurpose {
		return errors.New("the proof is of another type, cryptosuite or purpose")
	}
	if proof["created"] != created {
		return errors.New("the proof is of another time")
	}
	method, _ := proof["verificationMethod"].(string)
	key := strings.TrimPrefix(strings.SplitN(method, "#", 2)[0], "did:key:")
	if !contains(signers, key) || method != "did:key:"+key+"#"+key {
		return errors.New("the proof is by a key that may not sign this entry")
	}
	config, err := Canonicalize(proof)
	if err != nil {
		return err
	}
	content, err := Canonicalize(body)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(value, "z") {
		return errors.New(wrongSignature)
	}
	signature, err := base58Decode(value[1:])
	if err != nil {
		return err
	}
	good, err := verifies(key, append(sha256Of(config), sha256Of(content)...), signature)
	if err == nil && !good {
		err = errors.New(wrongSignature)
	}
	return err
}

// texts reads a list of keys: short, and nothing twice.
func texts(value any) ([]string, bool) {
	list, is := value.([]any)
	if !is || len(list) > mostKeys {
		return nil, false
	}
	found := make([]string, 0, len(list))
	for _, item := range list {
		text, is := item.(string)
		if !is || contains(found, text) {
			return nil, false
		}
		found = append(found, text)
	}
	return found, true
}

func contains(texts []string, wanted string) bool {
	for _, text := range texts {
		if text == wanted {
			return true
		}
	}
	return false
}
