from lookbench_triton.restarts import RestartBudget


def test_pauses_grow_and_the_sixth_restart_is_refused():
    budget = RestartBudget(limit=5, window=600)
    assert [budget.next_pause(float(now)) for now in range(6)] == [0, 1, 2, 4, 8, None]


def test_old_restarts_are_forgotten():
    budget = RestartBudget(limit=2, window=600)
    assert budget.next_pause(0.0) == 0
    assert budget.next_pause(1.0) == 1
    assert budget.next_pause(600.0) is None
    assert budget.next_pause(601.0) == 1
    assert budget.next_pause(1300.0) == 0
