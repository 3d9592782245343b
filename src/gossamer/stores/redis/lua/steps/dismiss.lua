-- Takes back everything from a worker whose process is known to have ended. It is not repeated: a
-- new process may have taken the number of the worker meanwhile.

steps.once('dismiss', function(ctx, message)
  local worker, in_hand, received = message[1], {}, message[3]
  for _, id in ipairs(message[2]) do
    in_hand[id] = true
  end
  leases.each(ctx, function(id, lease)
    if lease.worker == worker then
      local part = math.min(received, lease.allowed)
      received = received - part
      dismissal.take_back(ctx, id, lease, in_hand[id], part)
    end
  end)
  dismissal.forget(ctx, worker)
  slices.abandon(ctx)
  return true
end)
