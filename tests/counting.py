class Counting:
    """A communicator that counts the bytes which leave this rank."""

    def __init__(self, comm):
        self.comm, self.rank, self.size, self.sent = comm, comm.rank, comm.size, 0
        self.allgather, self.bcast = comm.allgather, comm.bcast

    def Ialltoallv(self, sent, received):
        vector, (counts, _) = sent
        assert not counts[self.rank]  # nothing is sent to oneself
        self.sent += sum(counts) * vector.itemsize
        return self.comm.Ialltoallv(sent, received)

    def Iallgatherv(self, sent, received):
        assert sent is None  # it is in its place already
        vector, (counts, _) = received
        self.sent += (self.size - 1) * counts[self.rank] * vector.itemsize
        return self.comm.Iallgatherv(sent, received)
