# pragma version 0.4.3
# pragma evm-version shanghai
# pragma optimize gas
"""
@title The ledger of an identity service, on a chain
@license Apache-2.0
@notice
    One contract is one ledger. Its owner appends entries, versions 1, 2, 3, ... of each DID; no version is ever recorded
    twice, whoever sends what in whichever order, so a DID has one history. The contract keeps the number of entries and
    the version of each DID in its storage: whoever holds entries can see that none is missing and that nothing newer
    exists. It also records roots of batches, each once, and leaves of them that no longer hold.
@dev
    The octets of the entries stand behind the arguments in the input of the transaction; the contract does not read them.
    Nothing can be changed afterwards, nothing is paid, and the code cannot be replaced.
"""

MOST_ITEMS: constant(uint256) = 128

struct Item:
    key: bytes32        # SHA-256 of the DID
    expected: uint256   # the DID's version before this entry
    digest: bytes32     # SHA-256 over DID, version and entry

event Recorded:
    key: indexed(bytes32)
    sequence: uint256
    version: uint256
    digest: bytes32

event Refused:
    key: indexed(bytes32)
    expected: uint256
    version: uint256

event Anchored:
    root: indexed(bytes32)
    size: uint256

event Revoked:
    leaf: indexed(bytes32)

event OwnershipOffered:
    to: indexed(address)

event OwnershipTaken:
    previous: indexed(address)
    owner: indexed(address)

owner: public(address)
offered_to: public(address)
count: public(uint256)
versions: public(HashMap[bytes32, uint256])
anchored: public(HashMap[bytes32, uint256])
revoked: public(HashMap[bytes32, uint256])


@deploy
def __init__():
    self.owner = msg.sender


@external
def append(items: DynArray[Item, MOST_ITEMS]):
    """
    @notice Records each item whose expected version is that of its DID; refuses the others, each alone.
    @dev One event an item, in their order.
    """
    assert msg.sender == self.owner, "not the owner"
    sequence: uint256 = self.count
    for item: Item in items:
        version: uint256 = self.versions[item.key]
        if version != item.expected:
            log Refused(key=item.key, expected=item.expected, version=version)
            continue
        version += 1
        sequence += 1
        self.versions[item.key] = version
        log Recorded(key=item.key, sequence=sequence, version=version, digest=item.digest)
    self.count = sequence


@external
def anchor(root: bytes32, size: uint256):
    """
    @notice Records, once, the root of a batch of `size` leaves.
    """
    assert msg.sender == self.owner, "not the owner"
    assert self.anchored[root] == 0, "already anchored"
    self.anchored[root] = block.number
    log Anchored(root=root, size=size)


@external
def revoke(leaf: bytes32):
    """
    @notice Records, once, that a leaf no longer holds; the others of its batch are not touched.
    """
    assert msg.sender == self.owner, "not the owner"
    assert self.revoked[leaf] == 0, "already revoked"
    self.revoked[leaf] = block.number
    log Revoked(leaf=leaf)


@external
def offer_ownership(to: address):
    """
    @notice The first of two steps: nothing changes until `to` takes it.
    """
    assert msg.sender == self.owner, "not the owner"
    self.offered_to = to
    log OwnershipOffered(to=to)


@external
def take_ownership():
    """
    @notice The second step, by whom it was offered to.
    """
    assert msg.sender == self.offered_to, "not offered to the sender"
    log OwnershipTaken(previous=self.owner, owner=msg.sender)
    self.owner = msg.sender
    self.offered_to = empty(address)
